/** A user's module with a remote, compiled against the packed packages. */
import { directory, openRemote, pull, push, type PushReport, s3 } from '@varve/remote'

const store =
  process.env['CI'] === undefined
    ? directory('shared')
    : s3({ bucket: 'bucket', credentials: { accessKeyId: '', secretAccessKey: '' } })
const remote = openRemote({ store, dir: '.remote', trustedKeys: ['varve-public-1:'] })
const { layers } = await pull(remote)
const paths: string[] = layers.map(({ path }) => path)
const { outcome }: PushReport = await push(remote, { caches: [{ name: 'tool', dir: 'cache' }] })
// @ts-expect-error there is no such option
openRemote({ store, dir: '.remote', trustedKeys: 'none', trusted: [] })
// @ts-expect-error the trusted keys have to be named
openRemote({ store, dir: '.remote' })
console.log(paths, outcome)

// @ts-check
// A publisher of its own, which a test kills: puts entries, prints `ready`, pushes, prints `done`.
import { text } from 'node:stream/consumers'
import { directory, openRemote, push, s3 } from '@varve/remote'
import { openCache } from 'varve'

const { store: place, folder, keys, entries } = JSON.parse(await text(process.stdin))
const store = typeof place === 'string' ? directory(place) : s3(place)
const cache = await openCache({ name: 'tool', dir: `${folder}/tool`, remote: false })
const space = cache.namespace('n', { codec: 'text' })
for (const [key, value] of Object.entries(entries)) space.put(key, value)
await cache.close()
const options = {
  store,
  dir: `${folder}/layers`,
  trustedKeys: [keys.publicKey],
  mode: 'read-write',
  signingKey: keys.signingKey,
}
const remote = openRemote(/** @type {import('@varve/remote').RemoteOptions} */ (options))
process.stdout.write('ready\n')
await push(remote, { caches: [{ name: 'tool', dir: `${folder}/tool` }] })
process.stdout.write('done\n')

/** A cluster of MinIO that loses two of its four nodes: only with `npm test -- test/remote --long`, on Linux and as root. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { KEYS } from './machines.ts'

const MINIO = fileURLToPath(new URL('../../target/servers/minio', import.meta.url))
const PROGRAM = fileURLToPath(new URL('minio.mjs', import.meta.url))

/** A network in which nothing but the program can reach the nodes. */
const NETWORK = ['--net', 'sh', '-c', 'ip link set lo up && ip addr add 10.77.0.1/32 dev lo && exec "$@"', 'sh']

const isLong = process.env['VARVE_LONG'] === '1'
const canRun = isLong && process.platform === 'linux' && process.getuid?.() === 0 && existsSync(MINIO)
if (isLong && !canRun)
  process.stderr.write("\n  SKIPPED the cluster of MinIO: run 'npm run setup -- --servers --long' as root on Linux\n")

it.skipIf(!canRun)(
  'with two of four nodes, machines read and cannot publish; with all of them, both work',
  { timeout: 300_000 },
  async () => {
    const args = [process.execPath, PROGRAM, MINIO, makeFolder(), KEYS.publicKey, KEYS.signingKey]
    const { stdout } = await promisify(execFile)('unshare', [...NETWORK, ...args])
    const [a, c] = [{ a: 'value of a' }, { c: 'value of c' }]
    expect(JSON.parse(stdout)).toEqual({
      healthy: { published: 'published', read: { state: 'current', values: a } },
      killed: {
        read: { state: 'current', values: a },
        published: 'REMOTE_UNAVAILABLE',
        readAfter: { state: 'current', values: a },
      },
      again: { published: 'published', read: { state: 'current', values: { ...a, ...c } } },
    })
  },
)

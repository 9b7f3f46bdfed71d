// @ts-check
// Runs in a network of its own (`minio.test.ts`), as root: four nodes of MinIO, each with one drive, of which two are killed and started again.
// Prints what machines read and publish in each state, as JSON. Arguments: the program, a folder, a public key and its signing key.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openRemote, pull, push, s3 } from '@varve/remote'
import { openCache } from 'varve'

const [program = '', folder = '', publicKey = '', signingKey = ''] = process.argv.slice(2)
const CREDENTIALS = { accessKeyId: 'rootkey', secretAccessKey: 'the-secret-of-s3' }
const START_MS = 120_000
/** Not a loopback address, which MinIO refuses in containers. */
const HOST = '10.77.0.1'
const NODES = [9001, 9002, 9003, 9004].map((port) => ({
  address: `${HOST}:${port}`,
  drive: join(folder, `drive-${port}`),
}))
const ADDRESSES = NODES.map(({ address, drive }) => `http://${address}${drive}`)
const endpoint = `http://${HOST}:9001`

/** @param {typeof NODES[number]} node */
function start({ address }) {
  const { accessKeyId: MINIO_ROOT_USER, secretAccessKey: MINIO_ROOT_PASSWORD } = CREDENTIALS
  // All drives are on the disk of the system, which MinIO accepts only in CI.
  const env = {
    ...process.env,
    MINIO_ROOT_USER,
    MINIO_ROOT_PASSWORD,
    MINIO_CI_CD: '1',
    MINIO_UPDATE: 'off',
    HOME: folder,
  }
  return spawn(program, ['server', '--quiet', '--address', address, ...ADDRESSES], { stdio: 'ignore', env })
}

/** Waits until the cluster can write. */
async function untilWritable() {
  for (const endMs = Date.now() + START_MS; Date.now() < endMs; await delay(250)) {
    const answer = await fetch(`${endpoint}/minio/health/cluster`).catch(() => undefined)
    if (answer?.ok === true) return
  }
  throw new Error('MinIO does not become writable')
}

/** @param {string} machine @param {boolean} writes */
function remoteOf(machine, writes = false) {
  const store = s3({ bucket: 'bucket', endpoint, credentials: CREDENTIALS, allowInsecure: true })
  const options = { store, dir: join(folder, machine, '.remote'), trustedKeys: [publicKey], budgetMs: 30_000 }
  return openRemote(writes ? { ...options, mode: 'read-write', signingKey } : options)
}

/** Publishes an entry, and returns the outcome or the code of the error. @param {string} machine @param {string} key */
async function publish(machine, key) {
  const [dir, remote] = [join(folder, machine, 'tool'), remoteOf(machine, true)]
  try {
    const layers = (await pull(remote)).layers.map(({ path }) => path)
    const cache = await openCache({ name: 'tool', dir, layers })
    cache.namespace('n', { codec: 'text' }).put(key, `value of ${key}`)
    await cache.close()
    return (await push(remote, { caches: [{ name: 'tool', dir }] })).outcome
  } catch (error) {
    return /** @type {{ code: string }} */ (error).code
  }
}

/** What a machine without a cache reads. @param {string} machine */
async function read(machine) {
  const cache = await openCache({ name: 'tool', dir: join(folder, machine, 'tool'), remote: remoteOf(machine) })
  const values = Object.fromEntries(cache.namespace('n', { codec: 'text' }).entries())
  const state = cache.status().remote?.state
  await cache.close()
  return { state, values }
}

const nodes = NODES.map(start)
try {
  await untilWritable()
  for (const { drive } of NODES) mkdirSync(join(drive, 'bucket'))
  const healthy = { published: await publish('one', 'a'), read: await read('two') }
  for (const node of nodes.slice(2)) {
    node.kill('SIGKILL')
    await once(node, 'exit')
  }
  const killed = { read: await read('three'), published: await publish('four', 'b'), readAfter: await read('five') }
  nodes.splice(2, 2, ...NODES.slice(2).map(start))
  await untilWritable()
  const again = { published: await publish('six', 'c'), read: await read('seven') }
  process.stdout.write(JSON.stringify({ healthy, killed, again }))
} finally {
  for (const node of nodes) node.kill('SIGKILL')
}

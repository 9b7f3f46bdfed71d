// @ts-check
// The servers of this bench, which `npm run setup -- --servers` builds: versitygw (S3) on a directory, and toxiproxy before it, which delays its answers.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { at } from '../../scripts/common/root.mjs'

export const CREDENTIALS = { accessKeyId: 'rootkey', secretAccessKey: 'rootsecret' }
const KILOBYTES_PER_SECOND = 100_000

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

/**
 * Starts a program of `npm run setup -- --servers` and waits until it answers.
 * @param {string} name
 * @param {readonly string[]} args
 * @param {string} url
 * @returns {Promise<() => void>} ends it
 */
async function serve(name, args, url) {
  const program = at(`target/servers/${name}`)
  if (!existsSync(program)) throw new Error(`${name} is missing: run 'npm run setup -- --servers'`)
  const child = spawn(program, args, { stdio: 'ignore' })
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await fetch(url).catch(() => undefined)) return () => void child.kill()
    await delay(50)
  }
  child.kill()
  throw new Error(`${name} does not answer`)
}

/**
 * A bucket, and what sets the round trip of its second address.
 * @param {string} home
 */
export async function startServers(home) {
  const [data, iam] = [join(home, 'data'), join(home, 'iam')]
  for (const path of [join(data, 'bucket'), iam]) await mkdir(path, { recursive: true })
  const [origin, near, control] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`, await freePort()]
  const root = ['--access', CREDENTIALS.accessKeyId, '--secret', CREDENTIALS.secretAccessKey]
  const stopStore = await serve(
    'versitygw',
    ['--port', origin, ...root, '--iam-dir', iam, '--quiet', 'posix', data],
    `http://${origin}/`,
  )
  const api = `http://127.0.0.1:${control}`
  const stopProxy = await serve('toxiproxy', ['-host', '127.0.0.1', '-port', String(control)], `${api}/version`)
  const post = async (/** @type {string} */ path, /** @type {object} */ body) => {
    const { status } = await fetch(`${api}${path}`, { method: 'POST', body: JSON.stringify(body) })
    if (status >= 300) throw new Error(`toxiproxy answers ${status} to ${path}`)
  }
  await post('/proxies', { name: 's3', listen: near, upstream: origin })
  await post('/proxies/s3/toxics', {
    name: 'rate',
    type: 'bandwidth',
    stream: 'downstream',
    attributes: { rate: KILOBYTES_PER_SECOND },
  })
  for (const stream of ['upstream', 'downstream']) {
    await post('/proxies/s3/toxics', { name: stream, type: 'latency', stream, attributes: { latency: 0 } })
  }
  return {
    origin: `http://${origin}`,
    near: `http://${near}`,
    /** @param {number} ms */
    setRoundTrip: async (ms) => {
      for (const stream of ['upstream', 'downstream'])
        await post(`/proxies/s3/toxics/${stream}`, { attributes: { latency: Math.round(ms / 2) } })
    },
    stop: () => {
      stopProxy()
      stopStore()
    },
  }
}

// @ts-check
// The remote of the demo: a directory that one machine publishes to, and an HTTP server over it whose answers take one round trip, and whose
// bytes share one line.
import { createServer } from 'node:http'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { directory, generateKeys } from '@varve/remote'

/** The time of a round trip to another country. */
export const ROUND_TRIP_MS = 60

/** The speed of the line. */
export const MEGABYTES_PER_SECOND = 100

/**
 * Publishes a first build, then builds on a fresh machine: one without caches, which reads the remote over HTTP.
 * @template T
 * @param {string} home
 * @param {string} cacheDir
 * @param {(env: NodeJS.ProcessEnv) => Promise<T>} build
 * @returns {Promise<{ fresh: () => Promise<T>, stop: () => void }>}
 */
export async function publishFirst(home, cacheDir, build) {
  const { publicKey, signingKey } = generateKeys()
  const path = join(home, 'remote')
  const reading = { VARVE_TRUSTED_KEYS: publicKey, VARVE_REMOTE_MODE: 'read', VARVE_SIGNING_KEY: '' }
  const writing = {
    ...reading,
    VARVE_REMOTE: pathToFileURL(path).href,
    VARVE_REMOTE_MODE: 'read-write',
    VARVE_SIGNING_KEY: signingKey,
  }
  await build(writing)
  await rm(dirname(cacheDir), { recursive: true }) // with the layers beside the cache
  const { url, stop } = await serve(path)
  return { fresh: () => build({ ...reading, VARVE_REMOTE: url }), stop }
}

/**
 * @param {string} path
 * @returns {Promise<{ url: string, stop: () => void }>}
 */
async function serve(path) {
  const store = directory(path)
  let freeMs = 0 // when the line has sent everything before
  const server = createServer(async (request, response) => {
    const [found] = await Promise.all([
      store.get(decodeURIComponent((request.url ?? '').slice(1))),
      delay(ROUND_TRIP_MS),
    ])
    if (found === undefined) {
      response.writeHead(404).end()
      return
    }
    freeMs = Math.max(freeMs, performance.now()) + found.bytes.length / (MEGABYTES_PER_SECOND * 1000)
    await delay(freeMs - performance.now())
    response.end(found.bytes)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

// @ts-check
// The worker of `browser.test.ts`: calls one cache, and answers in JSON.
import { openCache } from './dist/bundle/index.js'

/** @type {import('varve').Cache} */
let cache

const texts = () => cache.namespace('texts', { codec: 'text' })
const bytes = () => cache.namespace('bytes')

/** @param {number} size @param {number} seed */
const bytesOf = (size, seed) => Uint8Array.from({ length: size }, (_, index) => (index * index + seed) % 251)

/** @type {Readonly<Record<string, (...args: any[]) => unknown>>} */
const ACTIONS = {
  async open(/** @type {import('varve').CacheOptions} */ options) {
    cache = await openCache({ name: 'browser', onWarning: () => undefined, ...options })
    const { engine, reason, degraded } = cache.status()
    return { engine, reason, degraded: degraded?.mode }
  },
  put: (/** @type {Record<string, string>} */ entries) => texts().putMany(Object.entries(entries)),
  delete: (/** @type {string} */ key) => texts().delete(key),
  commit: async (/** @type {'relaxed' | 'durable'} */ durability) => (await cache.commit({ durability })).entries,
  get: (/** @type {string[]} */ keys) =>
    texts()
      .getMany(keys)
      .map((value) => value ?? null),
  getManyAsync: async (/** @type {string[]} */ keys) =>
    (await texts().getManyAsync(keys)).map((value) => value ?? null),
  putBytes: (/** @type {string} */ key, /** @type {number} */ size, /** @type {number} */ seed) =>
    bytes().put(key, bytesOf(size, seed)),
  hasBytes(/** @type {string} */ key, /** @type {number} */ size, /** @type {number} */ seed) {
    const [found, wanted] = [bytes().get(key), bytesOf(size, seed)]
    return found?.length === wanted.length && found.every((byte, index) => byte === wanted[index])
  },
  manyNamespaces(/** @type {number} */ count, /** @type {number} */ size) {
    for (let index = 0; index < count; index++) cache.namespace(`namespace ${index}`).put('key', bytesOf(size, index))
  },
  count(/** @type {number} */ count) {
    const counts = Array.from({ length: count }, (_, index) => cache.namespace(`namespace ${index}`).count())
    return counts.filter((entries) => entries === 1).length
  },
  async task(/** @type {string} */ id, /** @type {import('varve').TaskInputs} */ inputs) {
    let runs = 0
    const result = await cache.task('build').run({ id, inputs }, () => `work ${++runs} of ${id}`)
    return [result, runs]
  },
  async refusals() {
    const task = cache.task('refusing')
    const calls = [
      () => task.run({ id: 'a', files: ['a.js'] }, () => 1),
      () => task.run({ id: 'b' }, (context) => context.addFile('a.js')),
      () => cache.task('tracking', { trackReads: true }),
    ]
    const codes = []
    for (const call of calls) {
      try {
        await call()
      } catch (error) {
        codes.push(error instanceof Error && 'code' in error ? error.code : error)
      }
    }
    return codes
  },
  compact: async () => (await cache.compact({ full: true })).bytesAfter > 0,
  verify: async () => (await cache.verify()).damage,
  refresh: () => cache.refresh(),
  close: async () => cache.close(),
  /** The files of the engine, by name, as base64: the layout is in engine/opfs/slots.ts. */
  async files(/** @type {string} */ path) {
    let directory = await navigator.storage.getDirectory()
    for (const name of path.split('/').filter((part) => part !== ''))
      directory = await directory.getDirectoryHandle(name)
    /** @type {Record<string, { stamp: number, content: string }>} */
    const found = {}
    for await (const name of directory.keys()) {
      const content = new Uint8Array(await (await (await directory.getFileHandle(name)).getFile()).arrayBuffer())
      if (content.length < 4096) continue
      const view = new DataView(content.buffer)
      const at = view.getFloat64(8, true) > view.getFloat64(520, true) ? 0 : 512
      const stamp = view.getFloat64(at + 8, true)
      const file = new TextDecoder().decode(content.subarray(at + 32, at + 32 + view.getUint32(at + 4, true)))
      if (file === '' || (found[file]?.stamp ?? 0) > stamp) continue
      found[file] = {
        stamp,
        content: btoa(Array.from(content.subarray(4096), (byte) => String.fromCharCode(byte)).join('')),
      }
    }
    return Object.entries(found).map(([name, { content }]) => [name, content])
  },
}

onmessage = async ({
  data: {
    id,
    call: [action, ...args],
  },
}) => {
  try {
    postMessage({ id, answer: await ACTIONS[action]?.(...args) })
  } catch (error) {
    postMessage({ id, error: error instanceof Error ? `${error.message} ${error.stack}` : String(error) })
  }
}

// @ts-check
// What a build tool does without a store: a file for each entry, or one file that `v8.deserialize` reads whole.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'

/** @typedef {import('../api/subject.mjs').Subject} Subject */

const NODE = { engine: null, version: process.version.slice(1), isAsync: false }

/** Names are digests in 256 directories, as in npm's cache. @type {Subject} */
export const files = {
  ...NODE,
  name: 'files',
  open(dir) {
    const pathOf = (/** @type {string} */ key) => {
      const digest = createHash('sha256').update(key).digest('hex')
      return join(dir, digest.slice(0, 2), digest.slice(2))
    }
    const get = (/** @type {string} */ key) => readFileSync(pathOf(key))
    return {
      get,
      getMany: (keys) => keys.map(get),
      commit(entries) {
        for (const [key, value] of entries) {
          const path = pathOf(key)
          mkdirSync(join(path, '..'), { recursive: true })
          writeFileSync(path, value)
        }
      },
      close: () => undefined,
    }
  },
}

/** One serialized Map: everything is read at the start, and written at the end. @type {Subject} */
export const pack = {
  ...NODE,
  name: 'v8 pack',
  open(dir) {
    const file = join(dir, 'pack')
    /** @type {Map<string, Uint8Array>} */
    const map = existsSync(file) ? deserialize(readFileSync(file)) : new Map()
    let isChanged = false
    const get = (/** @type {string} */ key) => map.get(key)
    return {
      get,
      getMany: (keys) => keys.map(get),
      commit(entries) {
        for (const [key, value] of entries) map.set(key, value)
        isChanged = true
      },
      close() {
        if (!isChanged) return
        mkdirSync(dir, { recursive: true })
        writeFileSync(file, serialize(map))
      },
    }
  },
}

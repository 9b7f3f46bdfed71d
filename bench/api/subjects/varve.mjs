// @ts-check
// Varve through its public API with the codec 'bytes', so that `get` returns a copy.
//
// durable: the log is synced before `commit` is done. relaxed: the log is written, and synced some seconds later.
import { readFileSync } from 'node:fs'
import { at } from '../../../scripts/common/root.mjs'

/** @typedef {import('../subject.mjs').Subject} Subject */

/** @param {'native' | 'wasm'} engine @returns {Promise<Subject>} */
export async function varve(engine) {
  const { openCache } = await import('varve')
  const { version } = JSON.parse(readFileSync(at('packages/varve/package.json'), 'utf8'))
  return {
    name: `varve-${engine}`,
    engine,
    version,
    isAsync: false,
    async open(dir, durability) {
      const cache = await openCache({ name: 'bench', dir, engine, durability })
      const entries = cache.namespace('entries')
      return {
        get: (key) => entries.get(key),
        getMany: (keys) => entries.getMany(keys),
        getManyAsync: (keys) => entries.getManyAsync(keys),
        commit(batch) {
          for (const [key, value] of batch) entries.put(key, value)
          return cache.commit()
        },
        close: () => cache.close(),
      }
    },
  }
}

// @ts-check
// LMDB through its most used binding. `getBinary` copies the value. The library's `getMany` first fetches pages on other threads,
// which is slower than single gets if they are in memory. For commits, `transactionSync` is the fastest: `batch` and `put` switch
// threads.
//
// durable: the default; `transactionSync` has synced when it returns. relaxed: `noSync`.
import { open } from 'lmdb'
import { versionOf } from '../version.mjs'

export const lmdb = subject('lmdb', false)

/** Values from 1,000 bytes on are compressed with LZ4, the default of the library's option. */
export const lmdbCompressed = subject('lmdb+lz4', true)

/** @param {string} name @param {boolean} compression @returns {import('../../../api/subject.mjs').Subject} */
function subject(name, compression) {
  return {
    name,
    engine: null,
    version: versionOf('lmdb'),
    isAsync: false,
    open(dir, durability) {
      const db = open({ path: dir, encoding: 'binary', compression, noSync: durability === 'relaxed' })
      return {
        get: (key) => db.getBinary(key),
        getMany: (keys) => keys.map((key) => db.getBinary(key)),
        commit(entries) {
          db.transactionSync(() => {
            for (const [key, value] of entries) void db.put(key, value)
          })
        },
        close: () => db.close(),
      }
    },
  }
}

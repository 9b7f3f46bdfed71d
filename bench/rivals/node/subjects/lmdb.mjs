// @ts-check
// LMDB through its most used binding. `getBinary` copies the value. The library's `getMany` first fetches pages on other threads,
// which is slower than single gets if they are in memory. For commits, `transactionSync` is the fastest: `batch` and `put` switch
// threads.
//
// durable: the default; `transactionSync` has synced when it returns. relaxed: `noSync`.
import { open } from 'lmdb'
import { versionOf } from '../version.mjs'

/** @type {import('../../../api/subject.mjs').Subject} */
export const lmdb = {
  name: 'lmdb',
  engine: null,
  version: versionOf('lmdb'),
  isAsync: false,
  open(dir, durability) {
    const db = open({ path: dir, encoding: 'binary', noSync: durability === 'relaxed' })
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

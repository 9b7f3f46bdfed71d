// @ts-check
// LMDB by its most used binding. `getBinary` copies the value. `getMany` of the library fetches pages on other threads
// first, which costs more than it brings where they are in memory: as many gets are its fastest. So is, for a commit,
// `transactionSync`: `batch` and `put` add a change of threads.
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

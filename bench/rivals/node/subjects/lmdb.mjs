// @ts-check
// LMDB by its most used binding. `getBinary` copies the value. `getMany` of the library fetches pages on other threads
// first, which costs more than it brings where they are in memory: gets in one read transaction are its fastest.
//
// durable: lmdb flushes after a commit is visible, so the commit is waited for and then `flushed`. relaxed: `noSync`.
import { open } from 'lmdb'
import { versionOf } from '../version.mjs'

/** @type {import('../../../api/subject.mjs').Subject} */
export const lmdb = {
  name: 'lmdb',
  engine: null,
  version: versionOf('lmdb'),
  isAsync: false,
  open(dir, durability) {
    const isDurable = durability === 'durable'
    const db = open({ path: dir, encoding: 'binary', noSync: !isDurable })
    return {
      get: (key) => db.getBinary(key),
      getMany: (keys) => keys.map((key) => db.getBinary(key)),
      async commit(entries) {
        await db.batch(() => {
          for (const [key, value] of entries) void db.put(key, value)
        })
        if (isDurable) await db.flushed
      },
      close: () => db.close(),
    }
  },
}

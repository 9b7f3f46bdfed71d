// @ts-check
// LevelDB. `getSync` returns a new Buffer. `getMany` is asynchronous only, and slower than the same number of `getSync` calls. A
// chained batch takes a fifth of the time of one given as an array.
//
// durable: `sync: true`, which syncs the log before the batch is done. relaxed: `sync: false`, its default.
import { ClassicLevel } from 'classic-level'
import { versionOf } from '../version.mjs'

/** @type {import('../../../api/subject.mjs').Subject} */
export const classicLevel = {
  name: 'classic-level',
  engine: null,
  version: versionOf('classic-level'),
  isAsync: false,
  async open(dir, durability) {
    const sync = durability === 'durable'
    /** @type {ClassicLevel<string, Buffer>} */
    const db = new ClassicLevel(dir, { keyEncoding: 'utf8', valueEncoding: 'buffer' })
    await db.open()
    return {
      get: (key) => db.getSync(key),
      getMany: (keys) => keys.map((key) => db.getSync(key)),
      commit(entries) {
        const batch = db.batch()
        for (const [key, value] of entries) batch.put(key, asBuffer(value))
        return batch.write({ sync })
      },
      close: () => db.close(),
    }
  },
}

/** The same bytes. @param {Uint8Array} bytes */
const asBuffer = (bytes) => (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))

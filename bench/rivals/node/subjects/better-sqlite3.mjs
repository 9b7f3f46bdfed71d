// @ts-check
// SQLite, in the mode that its documentation and the binding recommend for speed: a write-ahead log, a memory map, prepared
// statements, and one transaction per commit. A table that is its own index is best for commits and small values. A table with
// row ids reads values of 4 KiB and more two to three times as fast, but still slower than LMDB and LevelDB. A blob is returned
// as a Buffer.
//
// durable: `synchronous = FULL`, which syncs the log with each commit. relaxed: `NORMAL`, which syncs the log only at
// checkpoints; a commit survives a process crash, as a relaxed commit of Varve does.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { versionOf } from '../version.mjs'

/** @type {import('../../../api/subject.mjs').Subject} */
export const betterSqlite3 = {
  name: 'better-sqlite3',
  engine: null,
  version: versionOf('better-sqlite3'),
  isAsync: false,
  open(dir, durability) {
    mkdirSync(dir, { recursive: true })
    const db = new Database(join(dir, 'cache.sqlite'))
    db.pragma('journal_mode = WAL')
    db.pragma(`synchronous = ${durability === 'durable' ? 'FULL' : 'NORMAL'}`)
    db.pragma('mmap_size = 4294967296')
    db.exec('CREATE TABLE IF NOT EXISTS t (k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID')
    const select = db.prepare('SELECT v FROM t WHERE k = ?').pluck()
    const insert = db.prepare('INSERT OR REPLACE INTO t VALUES (?, ?)')
    const insertAll = db.transaction((/** @type {readonly import('../../../api/subject.mjs').Entry[]} */ entries) => {
      for (const [key, value] of entries) insert.run(key, value)
    })
    const get = (/** @type {string} */ key) => /** @type {Buffer | undefined} */ (select.get(key))
    const getAll = db.transaction((/** @type {readonly string[]} */ keys) => keys.map(get))
    return { get, getMany: (keys) => getAll(keys), commit: (entries) => insertAll(entries), close: () => db.close() }
  },
}

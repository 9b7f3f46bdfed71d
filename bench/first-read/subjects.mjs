// @ts-check
// The stores by name. Each is imported only by the process that uses it.

/** @typedef {import('../api/subject.mjs').Subject} Subject */

/** @type {Readonly<Record<string, () => Promise<Subject>>>} */
const SUBJECTS = {
  'varve-native': async () => (await import('../api/subjects/varve.mjs')).varve('native'),
  'varve-wasm': async () => (await import('../api/subjects/varve.mjs')).varve('wasm'),
  lmdb: async () => (await import('../rivals/node/subjects/lmdb.mjs')).lmdb,
  'lmdb+lz4': async () => (await import('../rivals/node/subjects/lmdb.mjs')).lmdbCompressed,
  'better-sqlite3': async () => (await import('../rivals/node/subjects/better-sqlite3.mjs')).betterSqlite3,
  'classic-level': async () => (await import('../rivals/node/subjects/classic-level.mjs')).classicLevel,
  cacache: async () => (await import('../rivals/node/subjects/cacache.mjs')).cacacheSubject,
  files: async () => (await import('./simple.mjs')).files,
  'v8 pack': async () => (await import('./simple.mjs')).pack,
}

export const NAMES = Object.keys(SUBJECTS)

/** @param {string} name */
export async function subjectOf(name) {
  const load = SUBJECTS[name]
  if (load === undefined) throw new Error(`no subject is called ${name}`)
  return load()
}

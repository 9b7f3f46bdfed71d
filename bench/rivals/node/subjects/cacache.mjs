// @ts-check
// npm's cache of files: an entry is a line in an index file and a file of content. It verifies the hash of each content, has no
// commits of many entries, and syncs nothing. So it runs single reads, alone and in a fresh process, and one relaxed write of 100 entries.
import cacache from 'cacache'
import { versionOf } from '../version.mjs'

/** @type {import('../../../api/subject.mjs').Subject} */
export const cacacheSubject = {
  name: 'cacache',
  engine: null,
  version: versionOf('cacache'),
  isAsync: true,
  only: ['js/get/hit/', 'js/commit/100/relaxed'],
  entriesMax: 100,
  open: (dir) => ({
    get: async (key) => (await cacache.get(dir, key, { memoize: false })).data,
    getMany: (keys) => Promise.all(keys.map(async (key) => (await cacache.get(dir, key, { memoize: false })).data)),
    commit: (entries) =>
      Promise.all(entries.map(([key, value]) => cacache.put(dir, key, /** @type {Buffer} */ (value)))),
    close: () => undefined,
  }),
}

// @ts-check
// Defects in the trust of directories, in the detection of changes, and in parsing.

export default [
  {
    name: 'trust-writable-directory-on-the-way',
    file: 'packages/varve/src/health/trust.ts',
    find: 'if (isSticky && (!isOwn || isShared)) return undefined',
    replace: 'if (!isOwn || (isSticky && isShared)) return undefined',
    test: 'test/degrade/trust.test.ts',
    only: 'without any other user',
  },
  {
    name: 'group-with-other-members',
    file: 'packages/varve/src/health/trust.ts',
    find: 'members.length > 0 && members.every((name) => name === own[0])',
    replace: "members.includes(own[0] ?? '')",
    test: 'test/degrade/trust.test.ts',
    only: 'a group that has the user',
  },
  {
    name: 'directory-trusted-once',
    file: 'packages/varve/src/health/place.ts',
    find: 'return this.#isTrusted ? undefined : this.degraded',
    replace: 'return undefined',
    test: 'test/degrade/degrade.test.ts',
    only: 'made after the cache was opened',
  },
  {
    name: 'unchanged-by-modification-time',
    file: 'packages/varve/src/engine/tree-restore.ts',
    find: "return process.platform === 'win32' ? 0n : stat.ctimeNs",
    replace: 'return stat.ctimeNs < 0n ? 1n : 0n',
    test: 'test/files/restore.test.ts',
    only: 'the same size and time',
  },
  {
    name: 'unbounded-json',
    file: 'packages/varve/src/values/json.ts',
    find: 'if (text.length <= ELEMENTS_MAX) return false',
    replace: "if (text !== '') return false",
    test: 'test/hostile/values.test.ts',
    only: 'at the limit of its elements',
  },
  {
    name: 'json-strings-count',
    file: 'packages/varve/src/values/json.ts',
    find: 'if (unit === QUOTE) index = endOfString(text, index)',
    replace: 'if (unit === QUOTE) continue',
    test: 'test/hostile/values.test.ts',
    only: 'at the limit of its elements',
  },
]

// @ts-check
// Defects that delete or write what is not Varve's, or that odd programs turn into errors.

const CLEAN = 'test/files/clean.test.ts'
const FOREIGN = 'test/cli/foreign-directories.test.ts'
const ODD = 'test/degrade/odd-program.test.ts'

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'a clean restore takes every target',
    file: 'packages/varve/src/files/walk.ts',
    find: 'if (there !== undefined && isIn(there, real)) refuse(what)',
    replace: '',
    test: CLEAN,
    only: 'a target with the working directory',
  },
  {
    name: 'a clean restore removes before it knows that all contents exist',
    file: 'packages/varve/src/files/trees.ts',
    find: '{ ...request, checkOnly: true }',
    replace: '{ ...request, files: [], checkOnly: true }',
    test: CLEAN,
    only: 'with a missing content removes and writes nothing',
  },
  {
    name: 'temporary files of killed restores stay',
    file: 'packages/varve/src/files/walk.ts',
    find: "codeOf(error) === 'ESRCH'",
    replace: "codeOf(error) === 'ENOENT'",
    test: CLEAN,
    only: 'temporary files of a restore that was killed',
  },
  {
    name: 'the command takes a directory for a cache by the names of its files',
    file: 'packages/varve/src/cli/open/folder.ts',
    find: 'FORMAT_FILES.test(name) && isOfVarve(disk, join(folder, name))',
    replace: 'FORMAT_FILES.test(name)',
    test: FOREIGN,
    only: 'commands do not take a directory for a cache',
  },
  {
    name: 'a commit over files of another program rejects',
    file: 'packages/varve/src/session/commits.ts',
    find: "if (failure.code !== 'NOT_A_CACHE') {",
    replace: "if (failure.code !== 'INTERNAL') {",
    test: FOREIGN,
    only: 'keeps entries in memory',
  },
  {
    name: 'the length that a subclass of Uint8Array states is believed',
    file: 'packages/varve/src/values/bytes.ts',
    find: 'if (isKnown && !OVERRIDES.some((name) => Object.hasOwn(bytes, name))) return bytes',
    replace: 'if (isKnown || OVERRIDES.length > 0) return bytes',
    test: 'test/hostile/lengths.test.ts',
    only: 'wasm',
  },
  {
    name: 'directories are made by the recursion of Node.js, which has no end in procfs',
    file: 'packages/varve/src/host/permission.ts',
    find: '  const missing: string[] = []',
    replace:
      '  const missing: string[] = []\n  if (mode !== 0) return void files.mkdirSync(folder, { recursive: true, mode })',
    test: ODD,
    only: 'native a commit to a directory in which nothing can be made ends: /proc/self/fd/x',
  },
  {
    name: 'the clock of the program is believed',
    file: 'packages/varve/src/host/own.ts',
    find: 'if (Number.isSafeInteger(whole) && whole >= 0) return whole',
    replace: 'return ms',
    test: ODD,
    only: 'clock',
  },
  {
    name: 'methods toJSON of prototypes count',
    file: 'packages/varve/src/values/json.ts',
    find: "'toJSON' in Array.prototype ? withoutMethods(value) : value",
    replace: 'value',
    test: ODD,
    only: 'toJSON of objects',
  },
]

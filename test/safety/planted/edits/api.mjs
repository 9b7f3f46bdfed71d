// @ts-check
// Defects of the API that lose data or report something else than what happened, one edit each.

/** @typedef {{ name: string, file: string, find: string, replace: string, test: string, only?: string }} Edit */

/** @type {readonly Edit[]} */
export default [
  {
    name: 'close() loses what was put',
    file: 'packages/varve/src/cache.ts',
    find: 'options.commit !== false && !this.#isReadOnly',
    replace: 'options.commit === true',
    test: 'test/contract',
    only: 'what was put and not committed is gone',
  },
  {
    name: 'close() fails, and keeps its files open, where the last commit fails',
    file: 'packages/varve/src/session.ts',
    find: "      this.warn(toVarveError(error), 'close')",
    replace: '      throw toVarveError(error)',
    test: 'test/degrade',
    only: 'on a full disk loses',
  },
  {
    name: 'work that waits for itself is not noticed on one thread',
    file: 'packages/varve/src/task/waits.ts',
    find: 'this.#timer ??= setTimeout(() => this.#look(), LOOK_MS)',
    replace: '',
    test: 'test/task',
    only: 'hang for ever',
  },
  {
    name: 'a thread does not pass on what its work waits for',
    file: 'packages/varve/src/task/waits.ts',
    find: 'if (origin !== undefined) origin.fail',
    replace: 'if (chain.length > 1e9) origin?.fail',
    test: 'test/task/threads',
    only: 'threads whose work waits for one another hang',
  },
  {
    name: 'JSON makes something else of a result',
    file: 'packages/varve/src/codec.ts',
    find: 'if (unlike === undefined) return attempt',
    replace: 'if (unlike !== null) return attempt',
    test: 'test/task',
    only: 'something else at a hit',
  },
  {
    name: 'a run without work is not noticed',
    file: 'packages/varve/src/task/task.ts',
    find: "if (typeof work !== 'function') throw",
    replace: "if (typeof work === 'string') throw",
    test: 'test/task',
    only: 'a run without work',
  },
  {
    name: 'an empty --dir is the working directory',
    file: 'packages/varve/src/cli/entries.ts',
    find: "if (text !== '') return text",
    replace: 'if (text.length >= 0) return text',
    test: 'test/cli',
    only: 'an empty folder',
  },
  {
    name: 'a short VARVE_KEY counts as a cache that is not there',
    file: 'packages/varve/src/cli/folder.ts',
    find: 'return secretOf(undefined) !== undefined',
    replace: "return (process.env['VARVE_KEY'] ?? '') !== ''",
    test: 'test/cli',
    only: 'a short VARVE_KEY',
  },
  {
    name: 'doctor fails on WebAssembly',
    file: 'packages/varve/src/cli/doctor.ts',
    find: '...(isChosen ? {} : { note })',
    replace: '...(isChosen ? {} : { advice: note })',
    test: 'test/cli',
    only: 'doctor finds fault',
  },
  {
    name: 'what was written today was never used',
    file: 'packages/varve/src/cli/top.ts',
    find: 'writtenMs === 0 || Date.now() - writtenMs < DAY_MS',
    replace: 'writtenMs === 0',
    test: 'test/cli',
    only: 'top reports what was written today',
  },
  {
    name: 'a command writes JSON that its type does not have',
    file: 'packages/varve/src/cli/output.ts',
    find: 'jsonText({ format: CLI_JSON_FORMAT, caches }, 2)',
    replace: 'jsonText(caches.length === 1 ? { format: CLI_JSON_FORMAT, ...caches[0] } : { format: CLI_JSON_FORMAT, caches }, 2)',
    test: 'test/cli',
    only: 'of every command is what its type says',
  },
]

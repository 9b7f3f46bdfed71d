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
]

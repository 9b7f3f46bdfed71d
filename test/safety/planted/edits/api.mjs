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
    only: 'gone after close()',
  },
  {
    name: 'close() fails, and keeps its files open, where the last commit fails',
    file: 'packages/varve/src/session.ts',
    find: "      this.warn(toVarveError(error), 'close')",
    replace: '      throw toVarveError(error)',
    test: 'test/degrade',
    only: 'close() on a full disk',
  },
]

// @ts-check
// Defects of the API that lose data or report a wrong result.

const CONTRACT = 'test/contract/contract.test.ts'
const DEGRADE = 'test/degrade/degrade.test.ts'
const PERMISSION = 'test/degrade/permission.test.ts'
const TASK = 'test/task/task.test.ts'

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'close() loses what was put',
    file: 'packages/varve/src/api/cache.ts',
    find: 'options.commit !== false && !this.#options.readOnly',
    replace: 'options.commit === true',
    test: CONTRACT,
    only: 'what was put and not committed is gone',
  },
  {
    name: 'close() fails, and keeps its files open, where the last commit fails',
    file: 'packages/varve/src/session/session.ts',
    find: "      this.warn(toVarveError(error), 'close')",
    replace: '      throw toVarveError(error)',
    test: DEGRADE,
    only: 'on a full disk loses',
  },
  {
    name: 'work that waits for itself is not noticed on one thread',
    file: 'packages/varve/src/task/in-flight.ts',
    find: 'this.#timer ??= setTimeout(() => this.#look(), LOOK_MS)',
    replace: '',
    test: TASK,
    only: 'hang for ever',
  },
  {
    name: 'JSON makes something else of a result',
    file: 'packages/varve/src/values/codec.ts',
    find: 'if (unlike === undefined) return attempt',
    replace: 'if (unlike !== null) return attempt',
    test: TASK,
    only: 'something else at a hit',
  },
  {
    name: 'a run without work is not noticed',
    file: 'packages/varve/src/task/task.ts',
    find: "if (typeof work !== 'function') throw noWork('task.run()'",
    replace: "if (typeof work === 'string') throw noWork('task.run()'",
    test: TASK,
    only: 'a run without work',
  },
  {
    name: 'a result over 64 MiB fails its run',
    file: 'packages/varve/src/task/record.ts',
    find: "if (code === 'INVALID_ARGUMENT') throw failure",
    replace: "if (code !== 'CLOSED') throw failure",
    test: TASK,
    only: 'results over 64 MiB are returned and not stored',
  },
  {
    name: 'a commit asks the engine for its bytes first',
    file: 'packages/varve/src/history/history.ts',
    find: '!tally.tool.isEmpty && store.pendingBytes() > 0',
    replace: 'store.pendingBytes() > 0 && !tally.tool.isEmpty',
    test: 'test/parity/crossings.test.ts',
  },
  {
    name: 'another codec of a namespace is not noticed',
    file: 'packages/varve/src/api/cache.ts',
    find: 'if (known.namespace.fullVersion === fullVersion) return known.namespace',
    replace: 'return known.namespace',
    test: CONTRACT,
    only: 'an open cache accepts one version per namespace',
  },
  {
    name: 'what the host does not let this process write is tried',
    file: 'packages/varve/src/host/permission.ts',
    find: "return state === 'granted' ?",
    replace: "return state !== 'denied' ?",
    test: PERMISSION,
    only: 'a Deno process without the right to write',
  },
  {
    name: 'what Deno refuses is an error of another kind',
    file: 'packages/varve/src/host/permission.ts',
    find: "error.name === 'NotCapable'",
    replace: "error.name === ''",
    test: PERMISSION,
    only: 'a file operation that is refused',
  },
]

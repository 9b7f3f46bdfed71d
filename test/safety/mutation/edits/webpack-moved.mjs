// @ts-check
// Defects of the webpack plugin that give one checkout the results of another.

const TEST = 'test/plugins/webpack/moved.test.ts'
const WORKTREES = 'test/worktrees/webpack.test.ts'

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'webpack: code that has the path of its checkout is given to another checkout',
    file: 'packages/plugins/src/webpack/value.ts',
    find: 'own.isBound ||= this.#root.isNamedIn(item)',
    replace: 'own.isBound ||= false',
    test: TEST,
    only: 'a module whose code has the path of its checkout is built again',
  },
  {
    name: 'webpack: paths stay those of the first checkout',
    file: 'packages/plugins/src/webpack/value.ts',
    find: 'list[index] = this.#root.toAbsolute(item)',
    replace: "list[index] = item.replaceAll('<varve:root>', '/elsewhere')",
    test: TEST,
    only: 'a changed module is built',
  },
  {
    name: 'webpack: what one checkout is bound to is read by all',
    file: 'packages/plugins/src/webpack/entries.ts',
    find: '${root.folder}\\0',
    replace: '\\0',
    test: TEST,
    only: 'two checkouts with one cache directory',
  },
  {
    name: 'webpack: only the first checkout looks for configs above it',
    file: 'packages/plugins/src/webpack/environment.ts',
    find: 'outdated === undefined && found.length === 0',
    replace: 'outdated === undefined',
    test: TEST,
    only: 'a config that a loader looks for above',
  },
  {
    name: 'webpack: worktrees replace the entries of each other',
    file: 'packages/plugins/src/webpack/identity.ts',
    find: 'const KEPT = 4',
    replace: 'const KEPT = 1',
    test: WORKTREES,
    only: 'worktrees with different loaders take turns',
  },
  {
    name: 'webpack: a worktree takes the entries of another environment',
    file: 'packages/plugins/src/webpack/environment.ts',
    find: 'if (isUsable && isValid) return []',
    replace: 'if (isUsable) return []',
    test: WORKTREES,
    only: 'worktrees with different loaders take turns',
  },
]

// @ts-check
// Defects of the webpack plugin.

const POISONED = 'test/plugins/poisoned/webpack.test.ts'

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'webpack: a pack may hold anything under its name',
    file: 'packages/plugins/src/webpack/packs.ts',
    find: "if (!isOf(pack, bytes)) throw new Error('a pack is not what was written under its name')",
    replace: '',
    test: POISONED,
    only: 'a build that asks for lazy parts',
  },
  {
    name: 'webpack: a value is handed out for any identifier',
    file: 'packages/plugins/src/webpack/packs.ts',
    find: 'return identifiers[place] === identifier && etags[place] === etag',
    replace: 'return identifiers.length >= 0 && etags.length >= 0 && identifier !== etag && place >= 0',
    test: POISONED,
    only: 'a build by webpack from a cache',
  },
  {
    name: 'webpack: a stream has any module loaded',
    file: 'packages/plugins/src/webpack/requests.ts',
    find: 'if (isForeign(request, require, folders)) {',
    replace: 'if (isForeign(request, require, folders) && request === "") {',
    test: POISONED,
    only: 'whose module lies in the folder of the cache',
  },
  {
    name: 'webpack: what lies beside the packages counts as one of them',
    file: 'packages/plugins/src/webpack/requests.ts',
    find: 'return !isInstalled || isInCache(real, caches)',
    replace: 'return !isInstalled',
    test: POISONED,
    only: 'cannot have webpack load a module',
  },
]

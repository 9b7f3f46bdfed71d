// @ts-check
// Defects of the webpack plugin.

const REPEATS = 'packages/plugins/src/webpack/repeats.ts'
const TEST = 'test/plugins/webpack/repeats.test.ts'

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'webpack: a copy may begin where nothing was restored yet',
    file: REPEATS,
    find: 'isSound(from + length <= (from < known.length ? known.length : known.length + position))',
    replace: '',
    test: TEST,
    only: 'restored bytes are never those that were in memory before',
  },
  {
    name: 'webpack: repeats are restored to any size',
    file: REPEATS,
    find: 'return Math.min(RESTORED_BYTES_MAX, bytes * RATIO_MAX)',
    replace: 'return bytes < 0 ? 0 : 0xffffffff',
    test: TEST,
    only: '12 KB of repeats are not restored to 1 GiB',
  },
]

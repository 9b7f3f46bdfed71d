// @ts-check
// Defects of the webpack plugin that lose results.

const LAYER = 'packages/plugins/src/webpack/layer.ts'
const WRITING = 'packages/plugins/src/webpack/writing.ts'
const CLOSING = 'test/plugins/webpack/closing.test.ts'
const STORED = 'test/plugins/webpack/stored.test.ts'

/** @type {readonly import('../edits.mjs').Edit[]} */
export default [
  {
    name: 'webpack: what was put counts as written before it is committed',
    file: WRITING,
    find: 'return this.pending.size === 0 && !this.#isUncommitted',
    replace: 'return this.pending.size === 0',
    test: CLOSING,
    only: 'what was put before a build that stores nothing is committed in the idle time after it',
  },
  {
    name: 'webpack: a failed build does not report what it depended on',
    file: LAYER,
    find: 'compilation.summarizeDependencies()',
    replace: 'return',
    test: STORED,
    only: 'nothing is emitted',
  },
  {
    name: 'webpack: only objects are stored',
    file: WRITING,
    find: 'const weight = weightOf(data)',
    replace: "if (typeof data !== 'object') continue\n      const weight = weightOf(data)",
    test: STORED,
    only: 'texts and numbers',
  },
  {
    name: 'webpack: large buffers are joined with the rest of their pack',
    file: 'packages/plugins/src/webpack/contents.ts',
    find: 'const CONTENT_BYTES = 1 << 20',
    replace: 'const CONTENT_BYTES = 1 << 30',
    test: STORED,
    only: 'an asset of 70 MiB',
  },
]

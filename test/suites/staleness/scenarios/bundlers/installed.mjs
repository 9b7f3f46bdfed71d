// @ts-check
// A lock file that names another version than is installed, as after a checkout of another branch.
import { PLUGIN, WORDS } from '../parts.mjs'

const FILES = {
  ...WORDS,
  'build.config.mjs': `import { cached } from '@varve/plugins/rollup'
    import { plug } from 'plug'
    export default (on) => {
      const plugin = plug({})
      return {
        input: 'src/main.js',
        plugins: [on ? cached(plugin, { cacheKey: 'k', onStats: (s) => globalThis.varveStats.push(s) }) : plugin]
      }
    }`,
  'node_modules/plug/package.json': '{ "name": "plug", "version": "1.0.0", "type": "module", "main": "index.js" }',
  'node_modules/plug/index.js': "export * from 'inner'",
  // Node.js 20 loads it unseen.
  'node_modules/inner/package.json': '{ "name": "inner", "version": "1.0.0", "type": "module", "main": "index.js" }',
  'node_modules/inner/index.js': PLUGIN,
}

/** @type {import('../../scenario.mjs').Change} */
const INNER_CHANGES = ['replace', 'node_modules/inner/index.js', "v || 'none'", "'EDITED'"]

/** @param {string} lock @returns {import('../../scenario.mjs').Scenario} */
const laterThan = (lock) => ({
  name: `Rollup: ${lock} names a version that is installed after another build`,
  tool: 'rollup',
  files: { ...FILES, [lock]: 'one', 'node_modules/plug/index.js': PLUGIN },
  steps: {
    'another branch': [['write', lock, 'two']],
    installed: [
      ['replace', 'node_modules/plug/package.json', '1.0.0', '2.0.0'],
      ['replace', 'node_modules/plug/index.js', "v || 'none'", "'EDITED'"],
    ],
  },
})

/** @param {string} lock @returns {import('../../scenario.mjs').Scenario} */
const besideNpm = (lock) => ({
  name: `Rollup: ${lock} in a project whose packages npm had installed before`,
  tool: 'rollup',
  files: { ...FILES, 'node_modules/.package-lock.json': '{}', [lock]: 'one' },
  steps: { 'an update': [['write', lock, 'two'], INNER_CHANGES] },
})

/** @type {import('../../scenario.mjs').Scenario} */
const PATCHED = {
  name: 'Rollup: a patch that is applied after another build',
  tool: 'rollup',
  files: { ...FILES, 'yarn.lock': '' },
  steps: {
    'another branch': [
      ['write', 'patches/inner+1.0.0.patch', '--- a/node_modules/inner/index.js\n+++ b/node_modules/inner/index.js\n'],
    ],
    installed: [INNER_CHANGES],
  },
}

export const INSTALLED = [
  ...['pnpm-lock.yaml', 'bun.lock'].map(laterThan),
  ...['pnpm-lock.yaml', 'bun.lock'].map(besideNpm),
  PATCHED,
]

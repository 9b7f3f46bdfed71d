// @ts-check
// A lock file that names another version than is installed, as after a checkout of another branch.
import { PLUGIN, WORDS } from '../parts.mjs'

/** @param {string} lock @returns {import('../../scenario.mjs').Scenario} */
const laterThan = (lock) => ({
  name: `Rollup: ${lock} names a version that is installed after another build`,
  tool: 'rollup',
  files: {
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
    [lock]: 'one',
    'node_modules/plug/package.json': '{ "name": "plug", "version": "1.0.0", "type": "module", "main": "index.js" }',
    'node_modules/plug/index.js': PLUGIN,
  },
  steps: {
    'another branch': [['write', lock, 'two']],
    'installed': [
      ['replace', 'node_modules/plug/package.json', '1.0.0', '2.0.0'],
      ['replace', 'node_modules/plug/index.js', "v || 'none'", "'EDITED'"],
    ],
  },
})

export const INSTALLED = ['pnpm-lock.yaml', 'bun.lock'].map(laterThan)

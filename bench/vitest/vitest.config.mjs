// @ts-check
// The config of the runs of this bench, copied into the application. The environment chooses the caches; when Vitest ends, it writes
// its CPU time and what the cache did.
import { writeFileSync } from 'node:fs'
import { babel } from '@rollup/plugin-babel'
import mdx from '@mdx-js/rollup'
import vue from '@vitejs/plugin-vue'

const { BENCH_VARVE, BENCH_OWN, BENCH_RESULT = '' } = process.env
const counts = { hits: 0, misses: 0 }

/** @param {import('@varve/plugins/vite').CachedStats} stats */
function onStats({ hits, misses }) {
  counts.hits += hits
  counts.misses += misses
}

process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  writeFileSync(BENCH_RESULT, JSON.stringify({ ...counts, cpuMs: (user + system) / 1000 }))
})

const compiled = babel({
  babelrc: false,
  configFile: false,
  babelHelpers: 'bundled',
  compact: false,
  extensions: ['.js', '.jsx'],
  include: 'src/**',
  presets: [['@babel/preset-env', { targets: 'chrome 80', modules: false }]],
  plugins: ['@babel/plugin-syntax-jsx'],
})
// Before Vite's own plugins, which would reject the syntax of MDX, and compile JSX before Babel gets it.
const early = [mdx(), compiled].map((plugin) => ({ ...plugin, enforce: /** @type {const} */ ('pre') }))

/** The plugin is loaded only if it is used, so that runs without it do not pay for it. */
async function caches() {
  if (BENCH_VARVE === undefined) return []
  const { varve } = await import('@varve/plugins/vite')
  return [varve({ plugins: ['vue', 'babel', '@mdx-js/rollup'], dir: BENCH_VARVE, onStats })]
}

export default {
  plugins: [vue(), ...early, ...(await caches())],
  // In threads, whose CPU time counts for the process.
  test: {
    include: ['src/**/*.test.js'],
    pool: 'threads',
    experimental: { fsModuleCache: BENCH_OWN !== undefined, fsModuleCachePath: BENCH_OWN },
  },
}

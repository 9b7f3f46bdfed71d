// @ts-check
// All scenarios. Those of PLAIN need nothing but what the repository itself is built and tested with.
import { INSTALLED } from './scenarios/bundlers/installed.mjs'
import { RSPACK } from './scenarios/bundlers/rspack.mjs'
import { ROLLUP } from './scenarios/bundlers/rollup.mjs'
import { VITE_CONFIGS } from './scenarios/bundlers/vite-configs.mjs'
import { VITE_PLUGINS } from './scenarios/bundlers/vite-plugins.mjs'
import { VITE } from './scenarios/bundlers/vite.mjs'
import { COMPILERS } from './scenarios/webpack/compilers.mjs'
import { CONFIGS } from './scenarios/webpack/configs.mjs'
import { LOADERS } from './scenarios/webpack/loaders.mjs'
import { OPTIONS } from './scenarios/webpack/options.mjs'
import { PACKAGES } from './scenarios/webpack/packages.mjs'
import { SOURCES } from './scenarios/webpack/sources.mjs'

const VITE_ALL = [...VITE, ...VITE_CONFIGS, ...VITE_PLUGINS]

/**
 * The scenarios of Vite with another tool that uses its plugins.
 * @param {string} tool
 * @param {string} named
 */
const inTool = (tool, named) =>
  VITE_ALL.map((scenario) => ({ ...scenario, tool, name: scenario.name.replace(/^Vite/, named) }))

/** @type {readonly import('./scenario.mjs').Scenario[]} */
export const SCENARIOS = [
  ...CONFIGS,
  ...PACKAGES,
  ...SOURCES,
  ...LOADERS,
  ...COMPILERS,
  ...OPTIONS,
  ...VITE_ALL,
  ...inTool('vite-serve', 'Vite dev server'),
  ...inTool('vitest', 'Vitest'),
  ...ROLLUP,
  ...INSTALLED,
  ...RSPACK,
]

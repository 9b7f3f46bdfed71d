/** `cached` of `@varve/plugins/rollup` with the real Rollup. */
import { fileURLToPath } from 'node:url'
import { describe } from 'vitest'
import { buildWith, keyScenario, MODULES, scenarios, watchScenario } from '../scenarios.ts'

const build = buildWith(fileURLToPath(new URL('build.mjs', import.meta.url)), false)

describe('cached, in Rollup', () => {
  // Modules, the entry, a chunk that one of them emits, and a text that is loaded.
  const calls = MODULES + 3
  scenarios(build, calls)
  keyScenario(build, calls)
  watchScenario(build)
})

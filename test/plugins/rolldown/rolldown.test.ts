/** `cached` of `@varve/plugins/rolldown` with the real Rolldown. */
import { fileURLToPath } from 'node:url'
import { describe } from 'vitest'
import { buildWith, keyScenario, MODULES, scenarios, watchScenario } from '../scenarios.ts'

const build = buildWith(fileURLToPath(new URL('build.mjs', import.meta.url)), true)

describe('cached, in Rolldown', () => {
  // Modules, the entry, a chunk that one of them emits, a text that is loaded, and the runtime.
  const calls = MODULES + 4
  scenarios(build, calls)
  keyScenario(build, calls)
  watchScenario(build)
})

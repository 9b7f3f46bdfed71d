/** `cached` of `@varve/plugins/esbuild` with the real esbuild. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { buildWith, keyScenario, makeApplication, MODULES, scenarios, watchScenario } from '../scenarios.ts'
import { slow } from '../../slow.ts'

const build = buildWith(fileURLToPath(new URL('build.mjs', import.meta.url)), false)

describe('cached, in esbuild', () => {
  // Modules, the entry, and a text.
  const calls = MODULES + 2
  scenarios(build, calls)
  keyScenario(build, calls)
  watchScenario(build)

  it('an esbuild plugin runs again for modules that watch a folder in which a file appears', slow, async () => {
    const folder = makeApplication()
    mkdirSync(join(folder, 'watched'))
    await build(folder)
    writeFileSync(join(folder, 'watched', 'new.js'), '')
    expect((await build(folder)).ran.length).toBe(MODULES + 1)
  })

  it('another esbuild target is a full miss', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    expect((await build(folder, { config: { target: 'es2017' } })).ran.length).toBe(MODULES + 2)
  })
})

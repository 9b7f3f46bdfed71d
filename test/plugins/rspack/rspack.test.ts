/** `VarveRspackPlugin` and the loader with the real Rspack. */
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { rspack } from '@rspack/core'
import { describe, expect, it } from 'vitest'
import { buildWith, makeApplication, MODULES, scenarios, watchScenario } from '../scenarios.ts'
import { slow } from '../../slow.ts'

const run = buildWith(fileURLToPath(new URL('build.mjs', import.meta.url)), true)

/** Builds with a loader of the application's own: it moves with the application. */
const build: typeof run = (folder, ...others) => {
  if (!existsSync(join(folder, 'loader.cjs')))
    copyFileSync(new URL('loader.cjs', import.meta.url), join(folder, 'loader.cjs'))
  return run(folder, ...others)
}

describe('VarveRspackPlugin', () => {
  // Modules, the entry, and a text.
  scenarios(build, MODULES + 2)
  watchScenario(build)

  it('whether a program that looks for its output finds any from the last build is no input', async () => {
    const folder = makeApplication()
    const config = { output: { path: join(folder, 'out') } }
    expect((await build(folder, { config })).ran.length).toBe(MODULES + 2)
    expect(existsSync(join(folder, 'out'))).toBe(true)
    expect((await build(folder, { config })).ran).toEqual([])
  })

  it('an Rspack loader runs again when a file appears below a watched folder or at a missing path', slow, async () => {
    const folder = makeApplication()
    mkdirSync(join(folder, 'watched', 'deep'), { recursive: true })
    await build(folder)
    writeFileSync(join(folder, 'watched', 'deep', 'new.js'), '')
    expect((await build(folder)).ran.length).toBe(MODULES + 1)
    writeFileSync(join(folder, 'missing.txt'), '')
    expect((await build(folder)).ran.length).toBe(MODULES + 1)
    expect((await build(folder)).ran).toEqual([])
  })
})

it('VarveWebpackPlugin in Rspack fails with the name of the plugin to use', () => {
  const plugin = new VarveWebpackPlugin()
  const make = (): unknown =>
    rspack({ plugins: [(compiler: unknown) => Reflect.apply(plugin.apply, plugin, [compiler])] })
  expect(make).toThrow(/needs webpack 5; for Rspack use VarveRspackPlugin/)
})

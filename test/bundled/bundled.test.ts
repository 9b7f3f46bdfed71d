/**
 * Tools that contain Varve: each bundler bundles a small tool, the bundle is moved to a directory without the packages, and runs
 * there, with the package for this platform beside it and without.
 *
 * webpack failed to build for production, a CommonJS bundle of esbuild ended at its import with "Invalid URL", no bundle found the
 * worker that compacts, and all ran as WebAssembly without a warning.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'
import { type Bundler, BUNDLERS } from './bundlers.mjs'
import { addPlatformPackage, PLATFORM_PACKAGE, writeProject } from './project.mjs'
import type { Found } from './tool.mjs'

/** Runs a bundled tool. */
function run(program: string): Found {
  const env = { ...process.env, VARVE_ENGINE: '', NODE_OPTIONS: '' }
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, makeFolder()], { env, encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

const WORKS = { values: 160, files: 1, result: 'made', isCompacted: true }

/** Each of them stands for a defect; the others cost seconds, and find files in the same way. */
const ALWAYS = new Set(['esbuild, minified CommonJS', 'Rollup, inlineDynamicImports'])

describe('a bundled tool runs wherever it is moved, with the addon beside it and without', () => {
  for (const [name, bundle] of Object.entries(BUNDLERS))
    it(`bundler: ${name}`, ALWAYS.has(name) ? {} : slow, () => runsAnywhere(bundle))
})

async function runsAnywhere(bundle: Bundler): Promise<void> {
  const [folder, away] = [makeFolder(), join(makeFolder(), 'away')]
  const built = join(folder, 'built')
  mkdirSync(built)
  const program = await bundle(writeProject(folder), built)
  renameSync(built, away)
  rmSync(folder, { recursive: true })
  const moved = join(away, basename(program))

  const { warnings, ...without } = run(moved)
  expect(without).toEqual({ ...WORKS, engine: 'wasm', workers: 1 })
  expect(warnings).toEqual([expect.stringContaining(`'${PLATFORM_PACKAGE}' is not installed beside the bundle`)])

  addPlatformPackage(away)
  expect(run(moved)).toEqual({ ...WORKS, engine: 'native', workers: 0, warnings: [] })
}

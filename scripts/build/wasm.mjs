// @ts-check
// Builds the engine as WebAssembly. packages/varve/generated contains the glue, its typings, and the module as base64.
// So every runtime and bundler loads it without a fetch or a path.
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { at, targetDir } from '../root.mjs'
import { addWasmTarget, cargo } from '../tools.mjs'

const FOLDER = 'packages/varve/generated'
const TARGET = 'wasm32-unknown-unknown'

/** The path relative to the root of the repository. */
export const wasmPaths = ['varve_wasm.js', 'varve_wasm.d.ts', 'bytes.js', 'bytes.d.ts'].map((x) => `${FOLDER}/${x}`)

/** @param {{ profile?: string, features?: readonly string[], folder?: string }} [build] what to build, and the output directory */
export async function buildWasm({ profile = 'wasm', features = [], folder = at(FOLDER) } = {}) {
  await addWasmTarget()
  const chosen = features.map((name) => `--features=${name}`)
  await cargo('build', ['--profile', profile, '--target', TARGET, '--package', 'varve-wasm', ...chosen])
  const module = join(targetDir, TARGET, profile, 'varve_wasm.wasm')
  const bound = join(targetDir, 'bindgen', String(process.pid))
  await mkdir(bound, { recursive: true })
  await cargo('run', ['--quiet', '--profile', 'tool', '--package', 'varve-bindgen', '--', module, bound])
  await embed(bound)
  await publish(bound, folder)
  await rm(bound, { recursive: true })
}

/**
 * Writes the module as JavaScript.
 * @param {string} folder
 */
async function embed(folder) {
  const module = join(folder, 'varve_wasm_bg.wasm')
  const bytes = (await readFile(module)).toString('base64')
  const note = '/** The WebAssembly module of the engine, base64. */\n'
  await writeFile(join(folder, 'bytes.js'), `${note}export const bytes = '${bytes}'\n`)
  await writeFile(join(folder, 'bytes.d.ts'), `${note}export declare const bytes: string\n`)
  await rm(module)
  await rm(`${module}.d.ts`)
}

/**
 * Moves complete files to their place, because another process may be importing them.
 * @param {string} from
 * @param {string} to
 */
async function publish(from, to) {
  await mkdir(to, { recursive: true })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const target = join(to, entry.name)
    if (entry.isDirectory()) {
      await cp(join(from, entry.name), target, { recursive: true })
    } else {
      const temporary = `${target}.${process.pid}.tmp`
      await cp(join(from, entry.name), temporary)
      await rename(temporary, target)
    }
  }
}

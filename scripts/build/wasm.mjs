// @ts-check
// Builds the engine as WebAssembly, and archives apart from it, so that a cache without archives never loads their module.
// packages/varve/generated contains the glue without its comments, its typings, and each module compressed with gzip, as base64 in
// lines. Zopfli writes gzip that is 6 % smaller than the best of zlib, in 12 s.
// So every runtime and bundler loads it without a fetch or a path. Browsers decompress gzip, too, but not Brotli, which saves another 27 %.
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { at, targetDir } from '../common/root.mjs'
import { addWasmTarget, cargo } from '../common/tools.mjs'

const FOLDER = 'packages/varve/generated'
const TARGET = 'wasm32-unknown-unknown'

/** The path relative to the root of the repository. */
export const wasmPaths = ['varve_wasm', 'varve_archives'].flatMap((name) =>
  [`${name}.js`, `${name}.d.ts`, `${name}_bytes.js`, `${name}_bytes.d.ts`].map((file) => `${FOLDER}/${file}`),
)

/** The modules and the features that they need. */
const MODULES = /** @type {const} */ ([
  ['varve_wasm', 'engine'],
  ['varve_archives', 'archives'],
])

/** @param {{ profile?: string, features?: readonly string[], folder?: string, cwd?: string }} [build] what to build, the output directory, and the workspace */
export async function buildWasm({ profile = 'wasm', features = [], folder = at(FOLDER), cwd } = {}) {
  await addWasmTarget()
  const module = join(targetDir, TARGET, profile, 'varve_wasm.wasm')
  const bound = join(targetDir, 'bindgen', String(process.pid))
  await mkdir(bound, { recursive: true })
  for (const [name, feature] of MODULES) {
    const chosen = ['--no-default-features', `--features=${[feature, ...features].join(',')}`]
    await cargo('build', ['--profile', profile, '--target', TARGET, '--package', 'varve-wasm', ...chosen], {}, cwd)
    await cargo('run', ['--quiet', '--profile', 'tool', '--package', 'varve-bindgen', '--', module, bound, name])
    await embed(bound, name)
  }
  await publish(bound, folder)
  await rm(bound, { recursive: true })
}

/**
 * Writes a module as JavaScript, and its glue without comments.
 * @param {string} folder
 * @param {string} name
 */
async function embed(folder, name) {
  const module = join(folder, `${name}_bg.wasm`)
  const { gzipAsync } = await import('@gfx/zopfli') // setup, which imports this module, installs it
  const { minify } = await import('oxc-minify')
  const base64 = Buffer.from(await gzipAsync(await readFile(module), {})).toString('base64')
  const bytes = base64.replace(/.{400}/g, '$&\n') // decoders skip the line breaks
  const note = `/** The WebAssembly module ${name}: gzip, as base64. */\n`
  await writeFile(join(folder, `${name}_bytes.js`), `${note}export const bytes = \`${bytes}\`\n`)
  await writeFile(join(folder, `${name}_bytes.d.ts`), `${note}export declare const bytes: string\n`)
  const glue = join(folder, `${name}.js`)
  const readable = { compress: false, mangle: false, codegen: { removeWhitespace: false } }
  const { code, errors } = await minify(glue, await readFile(glue, 'utf8'), readable)
  if (errors.length > 0) throw new Error(`the glue of ${name} cannot be read: ${errors[0]?.message}`)
  await writeFile(glue, code)
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

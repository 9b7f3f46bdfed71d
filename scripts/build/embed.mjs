// @ts-check
// Writes two modules into packages/varve/generated: the program of the worker thread that compacts under WebAssembly, as a text, and
// the release that this copy of Varve belongs to. A bundler treats them like any other module.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../common/root.mjs'

const GENERATED = at('packages/varve/generated')
const SOURCE = at('packages/varve/src/engine/compact-worker.ts')

/** The modules, relative to the root of the repository. */
export const embeddedPaths = ['compact_worker', 'release'].flatMap((name) =>
  ['js', 'd.ts'].map((kind) => `packages/varve/generated/${name}.${kind}`),
)

/** What the worker uses instead of the bytes of the engine. */
const COMPILED = "export const bytes = process.getBuiltinModule('node:worker_threads').workerData.module"

/** @param {string} [folder] with the glue of the engine, and the output directory */
export async function embedWorker(folder = GENERATED) {
  const { rolldown } = await import('rolldown') // setup, which imports this module, installs it
  const glue = { name: 'glue', resolveId: { order: /** @type {const} */ ('pre'), handler: resolve }, load }
  const build = await rolldown({ input: SOURCE, platform: 'node', plugins: [glue] })
  const {
    output: [chunk],
  } = await build.generate({ format: 'iife', codeSplitting: false, comments: false })
  await build.close()
  const note = '/** The worker thread that compacts under WebAssembly. */\n'
  const code = `${note}export const program = ${inLines(chunk.code)}\n`
  writeModule(folder, 'compact_worker', code, `${note}export declare const program: string\n`)

  /** @param {string} id */
  function resolve(id) {
    if (id.endsWith('/wasm-files.ts')) return { id, external: true } // compaction stores no trees of files
    return id.includes('/generated/') ? join(folder, id.slice(id.lastIndexOf('/') + 1)) : undefined
  }

  /** @param {string} id */
  function load(id) {
    return id.endsWith('varve_wasm_bytes.js') ? COMPILED : undefined
  }
}

/** A text as a literal that has its lines, because Node prints the whole line that throws. @param {string} text */
const inLines = (text) => `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``

/**
 * @param {{ version: string, platforms: readonly string[] } | undefined} release undefined in a checkout
 * @param {string} [folder] the output directory
 */
export function writeRelease(release, folder = GENERATED) {
  const type = `/** A published version of Varve, and the platforms with a package \`@varve/<platform>\` of that version. */
export interface Release {
  readonly version: string
  readonly platforms: readonly string[]
}
`
  const note = '/** The release that this copy belongs to; undefined in a checkout. */\n'
  const declaration = `${type}${note}export declare const release: Release | undefined\n`
  writeModule(folder, 'release', `${note}export const release = ${JSON.stringify(release)}\n`, declaration)
}

/** @param {string} folder @param {string} name @param {string} code @param {string} declaration */
function writeModule(folder, name, code, declaration) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.js`), code)
  writeFileSync(join(folder, `${name}.d.ts`), declaration)
}

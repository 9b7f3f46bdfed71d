// @ts-check
// Builds the package `varve` with planted faults in target/planted/package, and leaves the normal build alone. The crates are built from a
// copy, in which `test/safety/mutation/defects.mjs` is edited in. test/safety/mutation chooses the faults, and proves that a normal build
// has none.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { defects } from '../../test/safety/mutation/defects.mjs'
import { at, targetDir } from '../common/root.mjs'
import { embedWorker, writeRelease } from './embed.mjs'
import { addonPath, buildNative } from './native.mjs'
import { buildWasm } from './wasm.mjs'

/** The path of the built package. */
export const plantedPackage = join(targetDir, 'planted', 'package')
/** The workspace of the crates with all defects. */
export const plantedSources = join(targetDir, 'planted', 'sources')

/** The profile and features for cargo; `planted` is also a profile in Cargo.toml. */
const BUILD = { profile: 'planted', features: ['planted'], cwd: plantedSources }

const WORKSPACE = [
  'Cargo.toml',
  'Cargo.lock',
  'rust-toolchain.toml',
  'crates',
  'bench/engine',
  'scripts/bindgen',
  'test/safety/engine',
]

export async function buildPlanted() {
  writePlantedSources()
  await mkdir(plantedPackage, { recursive: true })
  await buildNative({ ...BUILD, addon: join(plantedPackage, 'native', basename(addonPath)) })
  await buildWasm({ ...BUILD, folder: join(plantedPackage, 'generated') })
  await embedWorker(join(plantedPackage, 'generated'))
  writeRelease(undefined, join(plantedPackage, 'generated'))
  for (const part of ['package.json', 'src', 'dist']) {
    await cp(at(`packages/varve/${part}`), join(plantedPackage, part), { recursive: true })
  }
}

/** Copies the workspace with all defects. A file that is the same keeps its time, so that cargo compiles only what changed. */
export function writePlantedSources() {
  const planted = new Map(Object.entries(plantedFiles()))
  const wanted = WORKSPACE.flatMap((path) => filesBelow(path))
  for (const path of wanted) {
    const bytes = planted.has(path) ? Buffer.from(planted.get(path) ?? '') : readFileSync(at(path))
    const target = join(plantedSources, path)
    if (isEqual(target, bytes)) continue
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, bytes)
  }
  const surplus = filesBelow('', plantedSources).filter((path) => !wanted.includes(path))
  for (const path of surplus) rmSync(join(plantedSources, path))
}

/** The files that have a defect, by their paths. Throws if an edit does not apply. */
export function plantedFiles() {
  /** @type {Record<string, string>} */
  const files = {}
  for (const { name, edits } of defects) {
    for (const [file, find, replace] of edits) {
      const path = `crates/${file}`
      const pieces = (files[path] ?? readFileSync(at(path), 'utf8')).split(find)
      if (pieces.length !== 2)
        throw new Error(
          `defect '${name}': its text occurs ${pieces.length - 1} times in ${path}; expected exactly once`,
        )
      const root = file.startsWith('core/') ? 'crate::platform' : 'varve_core'
      files[path] = pieces.join(replace.replaceAll('BUG', `${root}::failpoints::bug("${name}")`))
    }
  }
  return files
}

/** The files of a folder, or the file itself. @param {string} path @param {string} [folder] @returns {string[]} */
function filesBelow(path, folder = at('')) {
  if (/\.\w+$/.test(path)) return [path]
  const entries = readdirSync(join(folder, path), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, '/').length))
}

/** @param {string} path @param {Buffer} bytes */
function isEqual(path, bytes) {
  try {
    return readFileSync(path).equals(bytes)
  } catch {
    return false
  }
}

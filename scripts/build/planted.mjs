// @ts-check
// The package `varve` with planted faults, at a place of its own: target/planted/package. Nothing of the normal build is
// touched. Who plants which fault, and the proof that a normal build has none, is in test/safety/mutation.
import { cp, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { at, targetDir } from '../root.mjs'
import { addonPath, buildNative } from './native.mjs'
import { buildWasm } from './wasm.mjs'

/** What cargo compiles with; `planted` is a profile, too: in Cargo.toml. */
const BUILD = { profile: 'planted', features: ['planted'] }

/** The package, once it is built. */
export const plantedPackage = join(targetDir, 'planted', 'package')

export async function buildPlanted() {
  await mkdir(plantedPackage, { recursive: true })
  await buildNative({ ...BUILD, addon: join(plantedPackage, 'native', basename(addonPath)) })
  await buildWasm({ ...BUILD, folder: join(plantedPackage, 'generated') })
  for (const part of ['package.json', 'src', 'dist']) {
    await cp(at(`packages/varve/${part}`), join(plantedPackage, part), { recursive: true })
  }
}

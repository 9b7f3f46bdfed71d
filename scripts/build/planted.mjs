// @ts-check
// Builds the package `varve` with planted faults in target/planted/package, and leaves the normal build alone.
// test/safety/mutation chooses the faults, and proves that a normal build has none.
import { cp, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { at, targetDir } from '../common/root.mjs'
import { embedWorker, writeRelease } from './embed.mjs'
import { addonPath, buildNative } from './native.mjs'
import { buildWasm } from './wasm.mjs'

/** The profile and features for cargo; `planted` is also a profile in Cargo.toml. */
const BUILD = { profile: 'planted', features: ['planted'] }

/** The path of the built package. */
export const plantedPackage = join(targetDir, 'planted', 'package')

export async function buildPlanted() {
  await mkdir(plantedPackage, { recursive: true })
  await buildNative({ ...BUILD, addon: join(plantedPackage, 'native', basename(addonPath)) })
  await buildWasm({ ...BUILD, folder: join(plantedPackage, 'generated') })
  await embedWorker(join(plantedPackage, 'generated'))
  writeRelease(undefined, join(plantedPackage, 'generated'))
  for (const part of ['package.json', 'src', 'dist']) {
    await cp(at(`packages/varve/${part}`), join(plantedPackage, part), { recursive: true })
  }
}

// @ts-check
// Finds the clone of webpack whose suites are run. It is never downloaded: a developer clones webpack, installs its
// dependencies as its CONTRIBUTING.md describes, and names the folder in VARVE_WEBPACK_CHECKOUT or puts it in `checkout` beside
// this file, which git ignores.
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Skipped } from '../../../scripts/common/steps.mjs'

/** The version of webpack whose suites are known to pass. */
export const PINNED_VERSION = '5.109.2'

/** The folder of the clone. Throws Skipped if there is none, or it is not the one that is asked for. */
export function findCheckout() {
  const folder = resolve(process.env.VARVE_WEBPACK_CHECKOUT ?? join(import.meta.dirname, 'checkout'))
  const manifest = join(folder, 'package.json')
  const how = `clone webpack ${PINNED_VERSION}, install its dependencies, and name the folder in VARVE_WEBPACK_CHECKOUT`
  if (!existsSync(manifest)) throw new Skipped(`no clone of webpack in '${folder}': ${how}`)
  const { name, version } = JSON.parse(readFileSync(manifest, 'utf8'))
  if (name !== 'webpack' || version !== PINNED_VERSION) throw new Skipped(`'${folder}' has ${name} ${version}: ${how}`)
  if (!existsSync(join(folder, 'node_modules/jest-cli'))) throw new Skipped(`'${folder}' has no dependencies: ${how}`)
  return folder
}

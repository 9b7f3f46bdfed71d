// @ts-check
// `npm run build [-- native | wasm | packages]`: builds both engines, then the packages, or what is named, with the dependencies
// of the lock file. Each target declares its inputs, so that setup can skip it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { embeddedPaths } from './build/embed.mjs'
import { addonPath, buildNative, nativeTypesPath } from './build/native.mjs'
import { buildPackages, packageFolders, sourcesOf } from './build/packages.mjs'
import { buildWasm, wasmPaths } from './build/wasm.mjs'
import { install, isInstalled } from './common/install.mjs'
import { isMain, root } from './common/root.mjs'
import { fingerprint, writeStamp } from './common/stamps.mjs'
import { runMain, step } from './common/steps.mjs'

/** @typedef {import('./common/stamps.mjs').Built & { title: string, needs?: readonly string[], make: () => Promise<void> }} Target */

const RUST = ['Cargo.toml', 'Cargo.lock', 'rust-toolchain.toml', 'crates'] // cargo decides which crates matter
const TYPESCRIPT = ['tsconfig.base.json', 'tsconfig.json', 'package-lock.json', 'scripts/build']

/** @type {readonly Target[]} */
export const targets = [
  {
    name: 'native',
    title: 'build: engine, native',
    inputs: [...RUST, 'scripts/build/native.mjs'],
    outputs: [addonPath, nativeTypesPath],
    make: buildNative,
  },
  {
    name: 'wasm',
    title: 'build: engine, WebAssembly',
    inputs: [...RUST, 'scripts/bindgen', 'scripts/build/wasm.mjs'],
    outputs: wasmPaths,
    make: buildWasm,
  },
  {
    name: 'packages',
    title: 'build: packages',
    needs: [...wasmPaths, nativeTypesPath],
    inputs: [
      nativeTypesPath,
      ...TYPESCRIPT,
      ...packageFolders.flatMap((folder) => [`${folder}/src`, `${folder}/package.json`, `${folder}/tsconfig.json`]),
      ...['varve_wasm.js', 'varve_wasm.d.ts'].map((name) => `packages/varve/generated/${name}`),
    ],
    outputs: [
      ...embeddedPaths,
      ...packageFolders.flatMap((folder) => [
        `${folder}/dist/.tsbuildinfo`,
        ...Object.keys(sourcesOf(folder)).map((name) => `${folder}/dist/bundle/${name}.js`),
      ]),
    ],
    make: buildPackages,
  },
]

/**
 * Throws an error that names what to build first, if output of another target is missing.
 * @param {Pick<Target, 'name' | 'needs'>} target
 * @param {string} [folder] of the checkout
 */
export function checkNeeds({ name, needs = [] }, folder = root) {
  const missing = needs.find((path) => !existsSync(join(folder, path)))
  if (missing === undefined) return
  const maker = targets.find(({ outputs }) => outputs.includes(missing))?.name
  throw new Error(`cannot build ${name}: '${missing}' is missing. Run 'npm run build -- ${maker}' first`)
}

/** @param {Target} target */
export function build(target) {
  return step(target.title, async () => {
    checkNeeds(target)
    const digest = fingerprint(target)
    await target.make()
    writeStamp(target, digest)
  })
}

if (isMain(import.meta)) {
  await runMain(async () => {
    const chosen = process.argv.slice(2)
    const unknown = chosen.find((name) => targets.every((target) => target.name !== name))
    if (unknown !== undefined)
      throw new Error(`there is no target '${unknown}': the targets are ${targets.map(({ name }) => name).join(', ')}`)
    if (!isInstalled()) await step('npm ci', install)
    for (const target of targets) if (chosen.length === 0 || chosen.includes(target.name)) await build(target)
  })
}

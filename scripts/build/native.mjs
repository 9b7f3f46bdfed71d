// @ts-check
// Builds the engine as a Node-API addon: packages/varve/native/varve.<platform>-<arch>[-<libc>].node. The library part of `varve`
// looks for the same name.
import { copyFile, mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { at, targetDir } from '../common/root.mjs'
import { cargo } from '../common/tools.mjs'

const { platform, arch } = process

/** The C library, which is part of the name if a platform has two. */
function libc() {
  if (platform !== 'linux') return undefined
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport())
  return report.header.glibcVersionRuntime === undefined ? 'musl' : 'gnu'
}

/** Name of this machine in file and package names. */
export const hostPlatform = [platform, arch, libc()].filter(Boolean).join('-')

/** The path relative to the root of the repository. */
export const addonPath = `packages/varve/native/varve.${hostPlatform}.node`

/**
 * What `cargo rustc` passes to the compiler of the addon's own crate, which links all crates and optimises across them. LLVM then inlines
 * only what is small or has `#[inline]`. bench/limits/sizes.md has what it saves, and the instructions of each path.
 */
export const LINKING = ['--', '-Cllvm-args=-inline-threshold=25']

/** @returns {string} the file name that cargo gives the library */
function libraryName() {
  if (platform === 'win32') return 'varve_node.dll'
  return platform === 'darwin' ? 'libvarve_node.dylib' : 'libvarve_node.so'
}

/** @param {{ profile?: string, features?: readonly string[], addon?: string }} [build] what to build, and the path of the addon */
export async function buildNative({ profile = 'release', features = [], addon = at(addonPath) } = {}) {
  // Without this flag, a musl target builds no shared library.
  const flags = libc() === 'musl' ? { RUSTFLAGS: `${process.env.RUSTFLAGS ?? ''} -C target-feature=-crt-static` } : {}
  const chosen = features.map((name) => `--features=${name}`)
  await cargo('rustc', ['--profile', profile, '--package', 'varve-node', ...chosen, ...LINKING], flags)
  const temporary = `${addon}.${process.pid}.tmp`
  await mkdir(dirname(addon), { recursive: true })
  await copyFile(join(targetDir, profile, libraryName()), temporary)
  await rename(temporary, addon) // never written in place: a running process may have it mapped
}

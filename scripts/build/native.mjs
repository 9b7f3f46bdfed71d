// @ts-check
// Builds the engine as a Node-API addon: packages/varve/native/varve.<platform>-<arch>[-<libc>].node. The library part of `varve`
// looks for the same name. And its types for TypeScript, generated/native.d.ts, from what napi-derive writes when it compiles the crate.
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
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

/** The types of the addon. */
export const nativeTypesPath = 'packages/varve/generated/native.d.ts'

/**
 * What `cargo rustc` passes to the compiler of the addon's own crate, which links all crates and optimises across them. LLVM then inlines
 * only what is small or has `#[inline]`, and repeats the body of a loop only where the count is known and small. bench/limits/sizes.md has
 * what it saves, and the instructions of each path.
 */
const LLVM = ['-inline-threshold=10', '-unroll-runtime=false', '-unroll-threshold=30', '-force-vector-interleave=1']
export const LINKING = ['--', `-Cllvm-args=${LLVM.join(' ')}`]

/**
 * What the crate `napi` insists on for Windows, although the addon looks the functions of Node up when it is loaded: a library of Node,
 * which is empty.
 * @param {string} folder
 */
export async function emptyNode(folder) {
  await writeFile(join(folder, 'libnode.dll'), '')
  await writeFile(join(folder, 'libnode.a'), '!<arch>\n')
  return { LIBNODE_PATH: folder }
}

/** @returns {string} the file name that cargo gives the library */
function libraryName() {
  if (platform === 'win32') return 'varve_node.dll'
  return platform === 'darwin' ? 'libvarve_node.dylib' : 'libvarve_node.so'
}

/** @param {{ profile?: string, features?: readonly string[], addon?: string, cwd?: string }} [build] what to build, the path of the addon, and the workspace */
export async function buildNative({ profile = 'release', features = [], addon = at(addonPath), cwd } = {}) {
  // Without this flag, a musl target builds no shared library.
  const flags = libc() === 'musl' ? { RUSTFLAGS: `${process.env.RUSTFLAGS ?? ''} -C target-feature=-crt-static` } : {}
  const chosen = features.map((name) => `--features=${name}`)
  await cargo('rustc', ['--profile', profile, '--package', 'varve-node', ...chosen, ...LINKING], flags, cwd)
  const temporary = `${addon}.${process.pid}.tmp`
  await mkdir(dirname(addon), { recursive: true })
  await copyFile(join(targetDir, profile, libraryName()), temporary)
  await rename(temporary, addon) // never written in place: a running process may have it mapped
  const written = await readFile(join(targetDir, profile, 'napi-types', 'varve-node'), 'utf8')
  await mkdir(dirname(at(nativeTypesPath)), { recursive: true })
  await writeFile(at(nativeTypesPath), typesOf(written))
}

/** @typedef {{ kind: string, name: string, original_name?: string, js_doc: string, def: string }} Definition */

/**
 * The declarations of a module, from a definition of napi-derive on each line.
 * @param {string} written
 */
export function typesOf(written) {
  /** @type {Definition[]} */
  const definitions = written
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const ofKind = (/** @type {string} */ kind) => definitions.filter((definition) => definition.kind === kind)
  const classes = ofKind('struct').map(({ name, original_name = name, js_doc }) => {
    const members = ofKind('impl').filter((definition) => definition.name === original_name)
    return `${js_doc}export declare class ${name} {\n${members.map(({ def }) => def).join('\n')}\n}`
  })
  const interfaces = ofKind('interface').map(
    ({ name, js_doc, def }) => `${js_doc}export interface ${name} {\n${def}\n}`,
  )
  const functions = ofKind('fn').map(({ js_doc, def }) => `${js_doc}export declare ${def}`)
  return `${[...classes, ...interfaces, ...functions].join('\n\n')}\n`
}

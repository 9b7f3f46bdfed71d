/**
 * The inputs that all calls of a plugin share: installed packages, config files, environment variables and Node. They are
 * determined once per build.
 */
import Module, { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { VarveError } from 'varve'
import { digest, digestOfTexts } from './digest.ts'
import { isFile, textOf } from './files.ts'
import { installedBeside, recordsOf, unlocked } from './installed.ts'
import type { CachedOptions } from './options.ts'
import { bounded, packageParts, type Parts, valueParts, versionPart } from './parts.ts'
import { hasWorkspaces, type Root } from './root.ts'
import { disk, environment } from '../host/files.ts'

/** Config files that plugins read without reporting them. Those in the root count, including their absence. */
export const CONFIG_FILES: readonly string[] = [
  'package.json',
  ...['', '.json', '.js', '.cjs', '.mjs', '.cts'].map((end) => `.babelrc${end}`),
  ...['json', 'js', 'cjs', 'mjs', 'cts', 'ts'].map((end) => `babel.config.${end}`),
  '.browserslistrc',
  '.swcrc',
  'tsconfig.json',
  'tsconfig.app.json',
  'jsconfig.json',
  ...['svelte', 'postcss', 'tailwind', 'uno'].flatMap((tool) =>
    ['js', 'cjs', 'mjs', 'ts'].map((end) => `${tool}.config.${end}`),
  ),
  ...['', '.json', '.yaml', '.yml', '.js', '.cjs', '.mjs'].map((end) => `.postcssrc${end}`),
]

const ENV = ['NODE_ENV', 'BABEL_ENV', 'BROWSERSLIST_ENV']

/** npm's own record of the installed packages, and the lock files that it takes the place of. */
const NPM_RECORD = 'node_modules/.package-lock.json'
const NPM_FILES = [NPM_RECORD, 'package-lock.json', 'npm-shrinkwrap.json']
/** The lock files of others. They leave npm's files where they are, so a project may have several. */
const LOCK_FILES = ['pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb']

/** A file in a patch of patch-package. */
const PATCHED = /^\+\+\+ b\/(node_modules\/.+)$/gm

/** Named inputs that all calls of one plugin share. */
export type Identity = Readonly<Record<string, string | undefined>>

/** A value as a part of a key: one that is not set differs from an empty one. */
export function valueText(value: string | undefined): string {
  return value === undefined ? '' : `=${value}`
}

/** The identity of a plugin from its options. Throws INVALID_OPTION if the `cacheKey` cannot be compared. */
export function identityOf(options: CachedOptions, root: Root): Identity {
  const names = [...new Set([...ENV, ...(options.env ?? [])])].sort()
  const env = Object.fromEntries(names.map((name) => [`env ${name}`, environment()[name]]))
  const files = [...CONFIG_FILES, ...(options.files ?? [])]
  return {
    ...env,
    options: digest(options.cacheKey, 'cacheKey'),
    version: options.version ?? '',
    packages: options.packages === undefined ? lockDigest(root.folder) : packagesDigest(options.packages, root.folder),
    'config files': digestOfTexts(files.map((file) => contentOf(resolve(root.folder, file)) ?? '-')),
    node: process.versions.node.split('.', 1).join(''),
  }
}

/** The inputs that `identityParts` has. */
export const EXPLAINED: readonly string[] = ['packages', 'config files', 'options']

/** The parts of the inputs that are digests of several things. */
export function identityParts(options: CachedOptions, root: Root): Readonly<Record<string, () => Parts>> {
  const { packages, files = [], cacheKey } = options
  return {
    packages: () => (packages === undefined ? lockParts(root.folder) : namedParts(packages, root.folder)),
    'config files': () =>
      fileParts(
        [...CONFIG_FILES, ...files].map((file) => resolve(root.folder, file)),
        root,
      ),
    options: () => valueParts(cacheKey, (text) => root.toRelative(text)),
  }
}

function namedParts(packages: readonly string[], folder: string): Parts {
  return bounded(packages.map((name) => [name, versionPart(packageVersion(name, folder))]))
}

/** Digests of files, by their paths relative to the root. */
export function fileParts(paths: readonly string[], root: Root): Parts {
  const found = paths.map((path) => [path, contentOf(path)] as const)
  return bounded(
    found.flatMap(([path, content]) =>
      content === undefined ? [] : [[nameIn(root, path), digestOfTexts([content])] as const],
    ),
  )
}

function nameIn(root: Root, path: string): string {
  return relative(root.folder, path).replaceAll('\\', '/')
}

function lockParts(folder: string): Parts {
  const texts = locksAbove(folder).map((path) => [path, path.endsWith('b') ? '' : (contentOf(path) ?? '')] as const)
  const locked = texts.flatMap(([, lock]) => Object.entries(packageParts(lock)))
  const installed = texts.flatMap(([path, lock]) => unlocked(path, lock))
  return bounded([...locked, ...installed.map((name) => [`installed ${name.split('\n', 1)[0]?.trim()}`, '='] as const)])
}

/** The files that `identityOf` compares. */
export function identityFiles({ files = [], packages }: CachedOptions, { folder }: Root): string[] {
  const configs = [...CONFIG_FILES, ...files].map((file) => resolve(folder, file))
  const paths = locksAbove(folder)
  const locks = paths.length === 0 ? [join(folder, 'package-lock.json')] : paths
  if (packages === undefined) return [...configs, ...locks, ...locks.flatMap(recordsOf)]
  return [...configs, ...packages.flatMap((name) => manifestsOf(name, folder))]
}

/** The digest of files: their paths relative to the root, and their contents. */
export function filesDigest(paths: readonly string[], root: Root): string {
  return digestOfTexts(paths.flatMap((path) => [root.toRelative(path.replaceAll('\\', '/')), contentOf(path) ?? '-']))
}

/** The digest of the records of installed packages, and of patches to them. */
function lockDigest(start: string): string {
  const paths = locksAbove(start)
  if (paths.length === 0) return 'no lock file'
  const installed = paths.flatMap((path) => {
    const lock = contentOf(path) ?? '-'
    return [lock, ...installedBeside(path, lock)]
  })
  return digestOfTexts([...installed, ...[...new Set(paths.map((path) => dirname(path)))].flatMap(patchesIn)])
}

/**
 * The lock files of the nearest directory that has any, with npm's record in the place of its own, and those of workspaces that it may be
 * in: a package that became a workspace may still have a lock file, and gets what the root has installed.
 */
function locksAbove(start: string): string[] {
  const paths: string[] = []
  let isNearest = true
  for (let folder = start; ; folder = dirname(folder)) {
    if (isNearest || hasWorkspaces(folder)) paths.push(...locksIn(folder))
    isNearest = paths.length === 0
    const isEnd = !isNearest && disk.existsSync(join(folder, '.git'))
    if (isEnd || dirname(folder) === folder) return paths
  }
}

function locksIn(folder: string): string[] {
  const own = NPM_FILES.map((name) => join(folder, name)).find(isFile)
  return [...(own === undefined ? [] : [own]), ...LOCK_FILES.map((name) => join(folder, name)).filter(isFile)]
}

/** The patches to packages, and the files that they patch: a patch in a checkout is applied later, by the installation. */
function patchesIn(folder: string): string[] {
  const patches = join(folder, 'patches')
  try {
    const names = disk.readdirSync(patches, { recursive: true, encoding: 'utf8' }).sort()
    return names.flatMap((name) => {
      const patch = contentOf(join(patches, name)) ?? '-'
      return [
        name,
        patch,
        ...Array.from(patch.matchAll(PATCHED), ([, path = '']) => contentOf(join(folder, path)) ?? '-'),
      ]
    })
  } catch {
    return []
  }
}

function packagesDigest(names: readonly string[], folder: string): string {
  return digestOfTexts(names.flatMap((name) => [name, packageVersion(name, folder)]))
}

/** The version of a package, resolved from the project root. Throws INVALID_OPTION if it is not installed. */
function packageVersion(name: string, folder: string): string {
  for (const path of manifestsOf(name, folder)) {
    const manifest = contentOf(path)
    if (manifest === undefined) continue
    const { version }: { version?: unknown } = JSON.parse(manifest)
    return String(version)
  }
  throw new VarveError(
    'INVALID_OPTION',
    `option 'packages' names '${name}', which is not installed; install it or remove the name`,
  )
}

/** Where the manifest of a package may be, the nearest first. */
function manifestsOf(name: string, folder: string): string[] {
  const manifest = join(folder, 'package.json')
  const plugged = pluggedFolder(name, manifest)
  const folders =
    plugged === undefined
      ? (createRequire(manifest).resolve.paths(name) ?? []).map((base) => join(base, name))
      : [plugged]
  return folders.map((one) => join(one, 'package.json'))
}

/** The folder of a package that Yarn Plug'n'Play resolves; undefined without it, and for a package that the project does not have. */
function pluggedFolder(name: string, from: string): string | undefined {
  const find: unknown = Reflect.get(Module, 'findPnpApi')
  if (typeof find !== 'function') return undefined
  try {
    const found: unknown = find(from)?.resolveToUnqualified(name, from)
    return typeof found === 'string' ? found : undefined
  } catch {
    return undefined
  }
}

/** The bytes of a file, one character each; undefined if it cannot be read. */
function contentOf(path: string): string | undefined {
  return textOf(path, 'latin1')
}

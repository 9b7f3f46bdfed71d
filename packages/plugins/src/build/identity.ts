/**
 * The inputs that all calls of a plugin share: installed packages, config files, environment variables and Node. They are
 * determined once per build.
 */
import Module, { createRequire } from 'node:module'
import { dirname, join, relative, resolve, basename } from 'node:path'
import { VarveError } from 'varve'
import { digest, digestOfTexts, bounded, packageParts, type Parts, valueParts, versionPart } from './digest.ts'
import { isFile, textOf, disk, environment, namesOf } from '../host/files.ts'
import type { CachedOptions } from './options.ts'
import { hasWorkspaces, type Root } from './root.ts'

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

// What is installed although the lock file does not name it. After a checkout of another branch, the lock file may name versions that are
// installed only later, so a build in between runs with others than those it names.
//
//   lock file        what the package manager writes when it installs     what both name
//   pnpm-lock.yaml   node_modules/.pnpm/lock.yaml                         each entry, the lines up to an empty one
//   yarn.lock        node_modules/.yarn-state.yml (Yarn 2 and newer)      "name@npm:1.0.0"
//   yarn.lock        node_modules/.yarn-integrity (Yarn 1)                the address of an archive
//   yarn.lock        .pnp.cjs, .pnp.data.json (Plug'n'Play)               "name", "npm:1.0.0"
//
// The records of Yarn 2 and newer count as a whole, because they decide which package gets which of several versions that both name. Yarn with
// `nodeLinker: pnpm` and Bun with `linker = "isolated"` write no record, so the names of their directories count, which have the versions.
// npm's own record takes the place of its lock file (`identity.ts`), and Bun writes none.

interface InstallRecord {
  readonly lock: string
  readonly record: string
  /** The packages in the record, and in the lock file. Groups are joined: name and reference. */
  readonly installed: RegExp
  readonly locked: RegExp
  /** If the whole record counts: what differs in it between two checkouts. */
  readonly leftOut?: RegExp
}

const ENTRY = /^(.*\S.*(?:\n.*\S.*)*)/gm
const RESOLUTION = /^ {2}resolution: "([^"]+)"$/gm

/** A package that another one gets, perhaps by another name: `["name", "npm:1.0.0"]`, `["alias", ["name", "npm:1.0.0"]]`. */
const PLUGGED = /\[\s*(?:"[^"]+",\s*\[\s*)?"([^"]+)",\s*"([^"]+)"\s*\]/g

/** Where the archives are: in a directory of the project or in one of the user. */
const LOCATION = /"packageLocation": "[^"]*"/g

const NOTHING = /(?!)/g

const RECORDS: readonly InstallRecord[] = [
  { lock: 'pnpm-lock.yaml', record: 'node_modules/.pnpm/lock.yaml', installed: ENTRY, locked: ENTRY },
  {
    lock: 'yarn.lock',
    record: 'node_modules/.yarn-state.yml',
    installed: /^"([^"]+)":$/gm,
    locked: RESOLUTION,
    leftOut: NOTHING,
  },
  {
    lock: 'yarn.lock',
    record: 'node_modules/.yarn-integrity',
    installed: /^ {4}"[^"]+": "([^"]+)",?$/gm,
    locked: /^ {2}resolved "([^"]+)"$/gm,
  },
  ...['.pnp.cjs', '.pnp.data.json'].map((record) => ({
    lock: 'yarn.lock',
    record,
    installed: PLUGGED,
    locked: RESOLUTION,
    leftOut: LOCATION,
  })),
]

/** How Yarn names a package that it installs once for each set of peers. */
const VIRTUAL = /@virtual:[^#]+#/

/** The records that may lie beside a lock file. */
export function recordsOf(lockPath: string): string[] {
  return recordsBeside(lockPath).map(({ record }) => join(dirname(lockPath), record))
}

/** What the records name and the lock file does not, in the order of the records. `lock` is the text of the lock file. */
export function unlocked(lockPath: string, lock: string): string[] {
  return recordsBeside(lockPath).flatMap((record) => unlockedIn(record, textIn(record, lockPath), lock))
}

/** What is installed and not in the lock file: whole records, what others name besides, and the names of directories. */
export function installedBeside(lockPath: string, lock: string): string[] {
  const records = recordsBeside(lockPath).flatMap((record) => {
    const text = textIn(record, lockPath)
    return record.leftOut === undefined || text === undefined
      ? unlockedIn(record, text, lock)
      : [text.replaceAll(record.leftOut, '')]
  })
  return [...records, ...['.store', '.bun'].flatMap((name) => namesOf(join(dirname(lockPath), 'node_modules', name)))]
}

function unlockedIn({ installed, locked }: InstallRecord, text: string | undefined, lock: string): string[] {
  if (text === undefined || text === lock) return [] // pnpm writes the same text, of which a large project has a megabyte
  const known = new Set(namesIn(lock, locked))
  return namesIn(text, installed).filter((name) => !known.has(name))
}

function textIn({ record }: InstallRecord, lockPath: string): string | undefined {
  return textOf(join(dirname(lockPath), record), 'latin1')
}

function recordsBeside(lockPath: string): readonly InstallRecord[] {
  return RECORDS.filter(({ lock }) => lock === basename(lockPath))
}

function namesIn(text: string, pattern: RegExp): string[] {
  const nameOf = (name = '', reference?: string): string => (reference === undefined ? name : `${name}@${reference}`)
  return Array.from(text.matchAll(pattern), ([, ...groups]) => nameOf(...groups).replace(VIRTUAL, '@'))
}

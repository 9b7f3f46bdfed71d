/**
 * Inputs on disk: what code can learn from a file system, and one digest for each kind.
 *
 *   content  what is in a file                      digest of the bytes
 *   module   what is in a file that is loaded as code    the same; code stays in memory, so its first load in a process counts
 *   list     the names in a folder, with types      digest of the names, without caches of Varve and output
 *   tree     the same of all folders below          digest of the paths, without these, `node_modules` and `.git`
 *   type     whether a path exists, and as what     'file', 'folder', 'other' or 'missing'
 *   link     what a path resolves to                the path, relative to the root
 *   package  a package of Yarn Plug'n'Play, by the path of its package.json    digest of versions, see below
 *
 * Of a path that is no file (content) or no folder (list, tree), the digest is its type. Times and sizes of files are no
 * inputs: a checkout changes them and means nothing by it.
 */
import type * as fs from 'node:fs'
import type * as nodePath from 'node:path'
import { builtin } from '../host/builtin.ts'
import { FORMAT_FILES, FORMAT_FOLDER, SECRET_FOLDER } from '../host/format.ts'
import { digestOfFile, digestOfNames, digestOfPieces, packageOf } from './digest.ts'
import { type Stamp, lookAt } from './stamp.ts'
import { jsonOf } from '../values/json.ts'

/** Larger files are hashed in pieces of this many bytes. */
const PIECE_BYTES = 4 * 1024 * 1024

/** The kinds of reads. */
export const READ_KINDS = ['content', 'module', 'list', 'tree', 'type', 'link', 'package'] as const
export type ReadKind = (typeof READ_KINDS)[number]

/** Kinds that find what a file has. */
export const CONTENT_KINDS: readonly ReadKind[] = ['content', 'module']

/** The key of a read. */
export function keyOf({ kind, path }: { readonly kind: ReadKind; readonly path: string }): string {
  return `${kind} ${path}`
}

/** Whether a read is of the names in a folder. Others may add to it, also if the work made it. */
export function isOfFolder(kind: ReadKind): boolean {
  return kind === 'list' || kind === 'tree'
}

/** A read and what it found. */
export interface Found {
  readonly kind: ReadKind
  /** Absolute. */
  readonly path: string
  readonly digest: string
  /** Zeros if the time is too young to be sure that the next write changes it. */
  readonly stamp: Stamp
}

/** Whether times and size of the path show that an input has not changed. */
export function hasStamp(kind: ReadKind): boolean {
  return kind === 'content' || kind === 'module' || kind === 'list'
}

/** Folders that a tree leaves out: large, and covered by other inputs. */
const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', '.git'])

/** A file system and its paths, as the host has them at this moment. */
export interface Disk {
  readonly fs: typeof fs
  readonly paths: typeof nodePath
  /** Folders, absolute, whose names do not count in the folders around them, such as those of output. */
  readonly hidden?: ReadonlySet<string>
}

/** Whether a folder has names below it that do not count. */
export function holdsHidden({ paths, hidden = new Set() }: Disk, folder: string): boolean {
  const start = folder.endsWith(paths.sep) ? folder : `${folder}${paths.sep}`
  return [...hidden].some((path) => path.startsWith(start))
}

/** The file system of the host, undefined if there is none. */
export function hostDisk(): Disk | undefined {
  const [files, paths] = [builtin('node:fs'), builtin('node:path')]
  return files === undefined || paths === undefined ? undefined : { fs: files, paths }
}

/** What a path is, in a word. */
export function typeOf(look: fs.Stats | 'missing' | 'unreadable'): string {
  if (look === 'missing') return 'missing'
  if (look === 'unreadable') return UNREADABLE
  return look.isDirectory() ? 'folder' : 'file'
}

/** The digest of one read as it would be made now. Throws for a file that cannot be read. */
export function digestNow(disk: Disk, kind: ReadKind, path: string): string {
  const { fs: files } = disk
  if (kind === 'link') return linkOf(files, path)
  if (kind === 'package') return digestOfPlugged(path)
  const look = lookAt(files, path)
  if (typeof look === 'string' || kind === 'type') return typeOf(look)
  if (look.isDirectory()) {
    if (kind === 'list') return digestOfNames(namesIn(disk, path))
    return kind === 'tree' ? digestOfNames([...namesBelow(disk, path)]) : 'folder'
  }
  if (kind !== 'content' && kind !== 'module') return 'file'
  return look.size > PIECE_BYTES ? digestOfPieces(pieces(files, path)) : digestOfFile(path, files.readFileSync(path))
}

function* pieces(files: typeof fs, absolute: string): Generator<Uint8Array> {
  const file = files.openSync(absolute, 'r')
  try {
    const piece = new Uint8Array(PIECE_BYTES)
    for (let size = -1; size !== 0;) {
      size = files.readSync(file, piece)
      yield piece.subarray(0, size)
    }
  } finally {
    files.closeSync(file)
  }
}

function linkOf(files: typeof fs, path: string): string {
  try {
    return files.realpathSync(path)
  } catch {
    return 'missing'
  }
}

/** The digest of what cannot be read. */
export const UNREADABLE = 'other'

/** The digest of an input now. */
export function digestOrOther(disk: Disk, kind: ReadKind, path: string): string {
  try {
    return digestNow(disk, kind, path)
  } catch {
    return UNREADABLE
  }
}

/**
 * Names with a letter for the type. Left out are caches of Varve, which appear while what was read is being recorded. In
 * `node_modules`, these are among the hidden folders, where tools keep caches of their own.
 */
function namesIn({ fs: files, paths, hidden }: Disk, folder: string): string[] {
  const isOfPackages = paths.basename(folder) === 'node_modules'
  const isLeftOut = (entry: fs.Dirent): boolean => {
    if (isOfPackages) return entry.name.startsWith('.')
    const path = paths.join(folder, entry.name)
    return hidden?.has(path) === true || (entry.isDirectory() && isCache(files, paths, path))
  }
  const counted = files.readdirSync(folder, { withFileTypes: true }).filter((entry) => !isLeftOut(entry))
  return counted.map((entry) => `${entry.isDirectory() ? 'd' : entry.isFile() ? 'f' : 'o'}${entry.name}`)
}

/** Whether a folder is the directory of a cache, with or without a secret. */
function isCache(files: typeof fs, paths: typeof nodePath, folder: string): boolean {
  const isFormat = (name: string): boolean => name === FORMAT_FOLDER || SECRET_FOLDER.test(name)
  const hasFiles = (name: string): boolean =>
    files.readdirSync(paths.join(folder, name)).some((file) => FORMAT_FILES.test(file))
  try {
    return files.readdirSync(folder).filter(isFormat).some(hasFiles)
  } catch {
    return false
  }
}

/** Reading with option `recursive` follows links to folders, so those count. `above`: the real paths of the folders that contain this one. */
export function* namesBelow(disk: Disk, folder: string, prefix = '', above: readonly string[] = []): Generator<string> {
  const { fs: files, paths } = disk
  const real = linkOf(files, folder)
  if (above.includes(real)) return
  for (const name of namesIn(disk, folder)) {
    const bare = name.slice(1)
    if (LEFT_OUT.has(bare)) continue
    yield `${name[0]}${prefix}${bare}`
    const path = paths.join(folder, bare)
    if (name.startsWith('d') || (name.startsWith('o') && typeOf(lookAt(files, path)) === 'folder')) {
      yield* namesBelow(disk, path, `${prefix}${bare}/`, [...above, real])
    }
  }
}

/**
 * Packages that Yarn Plug'n'Play supplies. They lie in zip archives whose paths have the version, and an archive stays as long as anything
 * uses it. So the content of a package decides nothing: what it is replaced by is at another path. What decides is which packages get
 * which versions, as the API of Plug'n'Play knows them:
 *
 *   a package at a path      its own version, the versions of all its dependencies, and the versions of this name that workspaces get
 *   nothing at that path     the versions of the packages of that name
 *
 * Every package that a package loads is read as well, so together they cover all that code of packages gets from each other.
 */

/** Name and reference of a package, such as `npm:4.2.0`. */
interface Locator {
  readonly name: string | null
  readonly reference: string | null
}

/** What is used of the API; `packageDependencies` has references by name, or another name and its reference. */
interface PlugnplayApi {
  findPackageLocator(path: string): Locator | null
  getPackageInformation(locator: Locator): { readonly packageDependencies: ReadonlyMap<string, unknown> } | null
  getDependencyTreeRoots(): readonly Locator[]
  getAllLocators?(): readonly Locator[]
}

/** An archive in a cache of Yarn: the hash of what it was made from, and that of its content or the version of the cache. */
const ARCHIVE = /-[\da-f]{10}-[\da-z]+\.zip$/
const VERSION = /(?:\bnpm:|\bversion=)([\w.+-]+)/g

/** Whether this process has packages of Plug'n'Play. */
export function isPlugged(): boolean {
  return globalThis.process.versions['pnp'] !== undefined
}

/** Whether a path is an archive, which Yarn reads on behalf of code that reads a package in it. */
export function isArchive(path: string): boolean {
  return isPlugged() && ARCHIVE.test(path)
}

/** The digest of the package whose manifest, absolute, would be at that path. */
export function digestOfPlugged(manifest: string): string {
  const api = apiFor(manifest)
  const name = packageOf(manifest)
  if (api === undefined || name === undefined) return 'missing'
  const workspaces = api.getDependencyTreeRoots().map((root) => dependenciesOf(api, root).get(name))
  const found = api.findPackageLocator(manifest)
  // The archive of another version: the folder around it belongs to the project.
  if (found?.name !== name)
    return digestOfVersions(
      manifest,
      (api.getAllLocators?.() ?? []).filter((one) => one.name === name),
      workspaces,
    )
  return digestOfVersions(manifest, [found], [workspaces, ...dependenciesOf(api, found)])
}

/** A digest that shows the versions. */
function digestOfVersions(manifest: string, packages: readonly Locator[], decides: readonly unknown[]): string {
  if (packages.length === 0) return 'missing'
  const references = packages.map(({ reference }) => reference ?? '').sort()
  const version = [...new Set(references.map(versionOf))].sort().join('+')
  return digestOfFile(manifest, Buffer.from(jsonOf({ version, references, decides })))
}

function dependenciesOf(api: PlugnplayApi, locator: Locator): ReadonlyMap<string, unknown> {
  return api.getPackageInformation(locator)?.packageDependencies ?? new Map()
}

/** The version in a reference; empty if it has none, as that of a folder. */
function versionOf(reference: string): string {
  return Array.from(reference.matchAll(VERSION), ([, version]) => version).at(-1) ?? ''
}

/** The API of the project that this process runs in, or else of that which has the path. */
function apiFor(path: string): PlugnplayApi | undefined {
  const find: unknown = Reflect.get(builtin('node:module') ?? {}, 'findPnpApi')
  if (typeof find !== 'function') return undefined
  const found: unknown = find(`${globalThis.process.cwd()}/`) ?? find(path)
  return isApi(found) ? found : undefined
}

function isApi(value: unknown): value is PlugnplayApi {
  return (
    typeof value === 'object' && value !== null && 'findPackageLocator' in value && 'getDependencyTreeRoots' in value
  )
}

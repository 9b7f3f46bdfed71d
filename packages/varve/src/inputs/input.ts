/**
 * Inputs on disk: what code can learn from a file system, and one digest for each kind.
 *
 *   content  what is in a file                      digest of the bytes
 *   module   what is in a file that is loaded as code    the same; code stays in memory, so its first load in a process counts
 *   list     the names in a folder, with types      digest of the names, without caches of Varve
 *   tree     the same of all folders below          digest of the paths, without these, `node_modules` and `.git`
 *   type     whether a path exists, and as what     'file', 'folder', 'other' or 'missing'
 *   link     what a path resolves to                the path, relative to the root
 *   package  a package of Yarn Plug'n'Play, by the path of its package.json    digest of versions: `plugged.ts`
 *
 * Of a path that is no file (content) or no folder (list, tree), the digest is its type. Times and sizes of files are no
 * inputs: a checkout changes them and means nothing by it.
 */
import type * as fs from 'node:fs'
import type * as nodePath from 'node:path'
import { builtin } from '../host/builtin.ts'
import { FORMAT_FILES, FORMAT_FOLDER, SECRET_FOLDER } from '../host/format.ts'
import { digestOfFile, digestOfNames, digestOfPieces } from './digest.ts'
import { PIECE_BYTES, pieces } from './files.ts'
import { lookAt, type Stamp } from './stamp.ts'
import { digestOfPlugged } from './plugged.ts'

/** The kinds of reads. */
export const READ_KINDS = ['content', 'module', 'list', 'tree', 'type', 'link', 'package'] as const
export type ReadKind = (typeof READ_KINDS)[number]

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
}

/** The file system of the host, undefined if there is none. */
export function hostDisk(): Disk | undefined {
  const [files, paths] = [builtin('node:fs'), builtin('node:path')]
  return files === undefined || paths === undefined ? undefined : { fs: files, paths }
}

/** What a path is, in a word. */
export function typeOf(look: fs.Stats | 'missing' | 'unreadable'): string {
  if (look === 'missing') return 'missing'
  if (look === 'unreadable') return 'other'
  return look.isDirectory() ? 'folder' : 'file'
}

/** The digest of one read as it would be made now. Throws for a file that cannot be read. */
export function digestNow({ fs: files, paths }: Disk, kind: ReadKind, path: string): string {
  if (kind === 'link') return linkOf(files, path)
  if (kind === 'package') return digestOfPlugged(path)
  const look = lookAt(files, path)
  if (typeof look === 'string' || kind === 'type') return typeOf(look)
  if (look.isDirectory()) {
    if (kind === 'list') return digestOfNames(namesIn(files, paths, path))
    return kind === 'tree' ? digestOfNames([...namesBelow({ fs: files, paths }, path)]) : 'folder'
  }
  if (kind !== 'content' && kind !== 'module') return 'file'
  return look.size > PIECE_BYTES ? digestOfPieces(pieces(files, path)) : digestOfFile(path, files.readFileSync(path))
}

function linkOf(files: typeof fs, path: string): string {
  try {
    return files.realpathSync(path)
  } catch {
    return 'missing'
  }
}

/** The digest of an input now; that of something unreadable is 'other'. */
export function digestOrOther(disk: Disk, kind: ReadKind, path: string): string {
  try {
    return digestNow(disk, kind, path)
  } catch {
    return 'other'
  }
}

/** The digest of an input on the disk of this host. Throws if it cannot be read. */
export function digestOfRead(kind: ReadKind, path: string): string {
  const disk = hostDisk()
  return disk === undefined ? 'missing' : digestNow(disk, kind, path)
}

/**
 * Names with a letter for the type. Left out are caches of Varve, which appear while what was read is being recorded. In
 * `node_modules`, these are among the hidden folders, where tools keep caches of their own.
 */
function namesIn(files: typeof fs, paths: typeof nodePath, folder: string): string[] {
  const isOfPackages = paths.basename(folder) === 'node_modules'
  const isLeftOut = (entry: fs.Dirent): boolean =>
    isOfPackages
      ? entry.name.startsWith('.')
      : entry.isDirectory() && isCache(files, paths, paths.join(folder, entry.name))
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
function* namesBelow(
  { fs: files, paths }: Disk,
  folder: string,
  prefix = '',
  above: readonly string[] = [],
): Generator<string> {
  const real = linkOf(files, folder)
  if (above.includes(real)) return
  for (const name of namesIn(files, paths, folder)) {
    const bare = name.slice(1)
    if (LEFT_OUT.has(bare)) continue
    yield `${name[0]}${prefix}${bare}`
    const path = paths.join(folder, bare)
    if (name.startsWith('d') || (name.startsWith('o') && typeOf(lookAt(files, path)) === 'folder')) {
      yield* namesBelow({ fs: files, paths }, path, `${prefix}${bare}/`, [...above, real])
    }
  }
}

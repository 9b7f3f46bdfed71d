/**
 * Looks at trees of files without reading contents: names and kinds only, sorted, links never followed. It finds the files for the paths of
 * a caller, which the engine examines again when it opens them, and what `restore({ clean: true })` removes.
 */
import type { Dirent } from 'node:fs'
import type * as fs from 'node:fs'
import { refused, VarveError } from '../errors.ts'
import { codeOf } from '../host/permission.ts'
import type * as paths from 'node:path'
import { builtin } from '../host/builtin.ts'
import { describe } from '../checks/options.ts'
import { byPath, type FileEntry, isFile } from '../values/manifest.ts'
import { FORMAT_FILES, FORMAT_FOLDER, isOfVarve, SECRET_FOLDER } from '../host/format.ts'

/** What stands at a path. */
export interface TreeEntry {
  /** Relative to where the walk began, parts separated by '/'. */
  readonly path: string
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  /** A folder that has nothing in it. */
  readonly isEmpty: boolean
}

/** Folders in folders at most, as in the rules of paths; a loop of mounts has no end. */
const DEPTH_MAX = 128

/** The temporary file of a restore or an export, with the number of its process. */
const TEMPORARY = /^\.varve-(\d+)-\d+\.tmp$/

/** Whether a name is that of a temporary file: one that a dead process left, or one in use. */
export function isLeftover(name: string): 'left' | 'in use' | undefined {
  const owner = Number(TEMPORARY.exec(name)?.[1])
  if (Number.isNaN(owner)) return undefined
  if (owner === process.pid) return 'in use'
  try {
    process.kill(owner, 0)
    return 'in use'
  } catch (error) {
    return codeOf(error) === 'ESRCH' ? 'left' : 'in use'
  }
}

/**
 * Everything below `root`, each folder before what it holds. Rejects with UNSAFE_PATH for a name that is not UTF-8, unless
 * `skipsForeign`, and with CANCELLED.
 */
export async function walk(
  files: typeof fs,
  root: string,
  signal: AbortSignal | undefined,
  skipsForeign: boolean,
): Promise<TreeEntry[]> {
  const found: TreeEntry[] = []
  const visit = async (folder: string, depth: number): Promise<number> => {
    if (signal?.aborted === true) throw new VarveError('CANCELLED', 'stopped on request', { cause: signal.reason })
    if (depth > DEPTH_MAX) throw refused(folder, `has more than ${DEPTH_MAX} folders in each other`)
    const names = await files.promises.readdir(folder === '' ? root : `${root}/${folder}`, { withFileTypes: true })
    for (const entry of names) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.name.includes('\ufffd')) {
        if (skipsForeign) continue
        throw refused(path, 'is not UTF-8')
      }
      if (!skipsForeign && TEMPORARY.test(entry.name)) continue
      const kind = kindOf(entry)
      const index = found.push({ path, kind, isEmpty: false }) - 1
      if (kind === 'folder') found[index] = { path, kind, isEmpty: (await visit(path, depth + 1)) === 0 }
    }
    return names.length
  }
  await visit('', 1)
  return found
}

function kindOf(entry: Dirent): TreeEntry['kind'] {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'folder'
  return entry.isSymbolicLink() ? 'link' : 'other'
}

/** Stands for a digest until the content was read. */
const UNREAD = '0'.repeat(64)

/** What was found. */
export interface Selection {
  /** Absolute. */
  readonly base: string
  /** Sorted; files have no size nor digest yet. */
  readonly entries: readonly FileEntry[]
}

/** What all steps of one search share. */
interface Search {
  readonly files: typeof fs
  readonly path: typeof paths
  readonly root: string
  readonly takesLinks: boolean
  readonly signal: AbortSignal | undefined
}

/** Finds the files of `what`. Rejects with UNSAFE_PATH for what is not stored, IO for what is not there. */
export async function findFiles(
  files: typeof fs,
  what: string | readonly string[],
  base: string | undefined,
  takesLinks: boolean,
  signal: AbortSignal | undefined,
): Promise<Selection> {
  const path = builtin('node:path')
  if (path === undefined) throw new VarveError('INVALID_OPTION', 'this host has no node:path')
  const names = namesOf(what)
  try {
    // A single path defines its base; a list is relative to the given one.
    const isOne = typeof what === 'string'
    const root = path.resolve(base ?? (isOne ? await ownBase(files, path, what) : '.'))
    const search = { files, path, root, takesLinks, signal }
    const found = new Map<string, TreeEntry>()
    for (const name of names) {
      const absolute = isOne ? path.resolve(name) : path.resolve(root, name)
      for (const one of await below(search, name, absolute)) found.set(one.path, one)
    }
    const kept = [...found.values()].filter((one) => one.kind !== 'folder' || one.isEmpty)
    const entries = await Promise.all(kept.map((one) => entryOf(search, one)))
    return { base: root, entries: entries.sort(byPath) }
  } catch (error) {
    throw error instanceof VarveError ? error : failureOf(error)
  }
}

function namesOf(what: string | readonly string[]): readonly string[] {
  const given: readonly unknown[] = typeof what === 'string' ? [what] : what
  for (const name of Array.isArray(given) ? given : [given]) {
    if (typeof name === 'string' && name !== '' && !name.includes('\0')) continue
    throw new VarveError(
      'INVALID_ARGUMENT',
      `files.store() takes a folder, a file or a list of them, not ${describe(name)}`,
    )
  }
  return typeof what === 'string' ? [what] : what
}

/** The base of one path: the folder itself, or the folder of the file. */
async function ownBase(files: typeof fs, path: typeof paths, what: string): Promise<string> {
  return (await files.promises.stat(what)).isDirectory() ? what : path.dirname(path.resolve(what))
}

/** What stands at `absolute` and below. */
async function below({ files, path, root, signal }: Search, name: string, absolute: string): Promise<TreeEntry[]> {
  const inside = path.relative(root, absolute).split(path.sep).join('/')
  if (inside === '..' || inside.startsWith('../') || path.isAbsolute(inside))
    throw refused(name, `is not below ${JSON.stringify(root)}`)
  const stat = inside === '' ? await files.promises.stat(absolute) : await files.promises.lstat(absolute)
  const kind = stat.isFile() ? 'file' : stat.isSymbolicLink() ? 'link' : stat.isDirectory() ? 'folder' : 'other'
  if (kind !== 'folder') return [{ path: inside, kind, isEmpty: false }]
  const found = await walk(files, absolute, signal, false)
  if (inside === '') return found
  const folder: TreeEntry = { path: inside, kind, isEmpty: found.length === 0 }
  return [folder, ...found.map((one) => ({ ...one, path: `${inside}/${one.path}` }))]
}

async function entryOf({ files, path, root, takesLinks }: Search, { path: at, kind }: TreeEntry): Promise<FileEntry> {
  if (kind === 'file') return { path: at, size: 0, digest: UNREAD }
  if (kind === 'folder') return { path: at, folder: true }
  if (kind === 'link' && takesLinks) return { path: at, link: await files.promises.readlink(path.join(root, at)) }
  throw refused(
    at,
    kind === 'link' ? "is a link; option 'links' takes those that stay inside" : 'is a device, a pipe or a socket',
  )
}

function failureOf(error: unknown): VarveError {
  const code = codeOf(error)
  const text = error instanceof Error ? error.message : String(error)
  return new VarveError(code === 'EACCES' || code === 'EPERM' ? 'PERMISSION' : 'IO', `cannot store: ${text}`, {
    cause: error,
  })
}

// `restore({ clean: true })`: which targets it refuses, what it removes, and in which order.

/** Directories that only a repository has. */
const REPOSITORIES = ['.git', '.hg', '.svn', '.jj']

/** What a bare repository has. */
const BARE = ['HEAD', 'objects', 'refs']

/** Paths below a target that its manifest does not have, each after what is in it. */
export interface Surplus {
  /** Those where the manifest has a directory and the target has none, or the other way around. */
  readonly blocking: readonly string[]
  readonly others: readonly string[]
}

/**
 * Throws INVALID_ARGUMENT if cleaning `root` could remove more than outputs: the file system, the home or working directory, a
 * cache, a repository, or a directory with one of these in it.
 */
export function refuseTarget(files: typeof fs, root: string, cacheDirectory: string | undefined): void {
  const real = realOf(files, root)
  if (real === undefined) return // there is nothing to remove
  const refuse = (what: string): never => {
    throw unclean(root, what)
  }
  const kept: readonly (readonly [path: string | undefined, what: string])[] = [
    [workingDirectory(), 'has the working directory'],
    [cacheDirectory, 'has the cache'],
    [builtin('node:os')?.homedir(), 'has the home directory'],
  ]
  for (const [path, what] of kept) {
    const there = path === undefined ? undefined : realOf(files, path)
    if (there !== undefined && isIn(there, real)) refuse(what)
  }
  const cache = cacheDirectory === undefined ? undefined : realOf(files, cacheDirectory)
  if (cache !== undefined && isIn(real, cache)) refuse('is in the cache')
  if (builtin('node:path')?.dirname(real) === real) refuse('is a whole file system')
  const repository = REPOSITORIES.find((name) => files.existsSync(`${real}/${name}`))
  if (repository !== undefined) refuse(`has '${repository}'`)
  const isBare = BARE.every((name) => files.existsSync(`${real}/${name}`))
  if (isBare || real.split(/[/\\]/).some((name) => REPOSITORIES.includes(name))) refuse('is in a repository')
}

function unclean(root: string, what: string): VarveError {
  const text = `files.restore() with clean: true would remove everything else in '${root}', which ${what}`
  return new VarveError('INVALID_ARGUMENT', `${text}; name the directory of the outputs`)
}

/**
 * What is below `root` and not in the manifest. Files of restores that still run are left out. Rejects with INVALID_ARGUMENT if it has a
 * repository or a cache.
 */
export async function findSurplus(
  files: typeof fs,
  root: string,
  entries: readonly FileEntry[],
  signal: AbortSignal | undefined,
): Promise<Surplus> {
  const kinds = kindsOf(entries)
  let found: TreeEntry[]
  try {
    found = await walk(files, root, signal, true)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { blocking: [], others: [] }
    if (error instanceof VarveError) throw error
    throw new VarveError('IO', `cannot look at '${root}': ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
  const wrong = found.filter(({ path, kind }) => kinds.get(path) !== kind && isLeftover(nameOf(path)) !== 'in use')
  const kept = found.find(({ path }) => !kinds.has(path) && isKept(files, root, path))
  if (kept !== undefined) throw unclean(root, `has '${kept.path}'`)
  const isBlock = ({ path, kind }: TreeEntry): boolean =>
    kinds.has(path) && (kind === 'folder' || kinds.get(path) === 'folder')
  const blocks = new Set(wrong.filter(isBlock).map(({ path }) => path))
  // From the end, so that what a folder holds comes first. A file is replaced by a file, a link by a link, without removing.
  const surplus = wrong.toReversed().map(({ path }) => path)
  const isBlocking = (path: string): boolean => blocks.has(path) || ancestorsOf(path).some((above) => blocks.has(above))
  return {
    blocking: surplus.filter(isBlocking),
    others: surplus.filter((path) => !isBlocking(path) && !kinds.has(path)),
  }
}

/** Whether a path is that of a repository, or of a file of a cache. */
function isKept(files: typeof fs, root: string, path: string): boolean {
  const [name = '', folder = ''] = path.split('/').toReversed()
  if (REPOSITORIES.includes(name)) return true
  const isNamed = FORMAT_FILES.test(name) && (folder === FORMAT_FOLDER || SECRET_FOLDER.test(folder))
  return isNamed && isOfVarve(files, `${root}/${path}`)
}

/**
 * The paths of `surplus` that are not names of the manifest's files: a file system that ignores case or the form of characters finds a file
 * that was restored under another name.
 */
export function withoutAliases(
  files: typeof fs,
  root: string,
  surplus: readonly string[],
  entries: readonly FileEntry[],
): readonly string[] {
  if (surplus.length === 0) return surplus
  const folded = new Map(Array.from(kindsOf(entries).keys(), (path) => [foldedOf(path), path]))
  return surplus.filter((path) => {
    const named = folded.get(foldedOf(path))
    return named === undefined || !isSameFile(files, `${root}/${named}`, `${root}/${path}`)
  })
}

const foldedOf = (path: string): string => path.normalize('NFC').toLowerCase()

function isSameFile(files: typeof fs, one: string, other: string): boolean {
  const look = (path: string): fs.BigIntStats | undefined =>
    files.lstatSync(path, { bigint: true, throwIfNoEntry: false })
  const first = look(one)
  const second = look(other)
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev
}

/** Temporary files in the directories of a manifest that restores of dead processes left. */
export function findLeftovers(files: typeof fs, root: string, entries: readonly FileEntry[]): string[] {
  const folders = new Set(['', ...entries.flatMap(({ path }) => ancestorsOf(path))])
  return [...folders].flatMap((folder) =>
    namesIn(files, `${root}/${folder}`)
      .filter((name) => isLeftover(name) === 'left')
      .map((name) => (folder === '' ? name : `${folder}/${name}`)),
  )
}

/** What the manifest has at each path, with the folders above. */
function kindsOf(entries: readonly FileEntry[]): Map<string, TreeEntry['kind']> {
  const kinds = new Map<string, TreeEntry['kind']>()
  for (const entry of entries) {
    kinds.set(entry.path, isFile(entry) ? 'file' : 'link' in entry ? 'link' : 'folder')
    for (const folder of ancestorsOf(entry.path)) {
      if (kinds.get(folder) === 'folder') break
      kinds.set(folder, 'folder')
    }
  }
  return kinds
}

/** The folders of a path, the nearest first. */
function ancestorsOf(path: string): string[] {
  const folders: string[] = []
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
    folders.push(path.slice(0, slash))
  }
  return folders
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function isIn(path: string, folder: string): boolean {
  const relative = builtin('node:path')?.relative(folder, path) ?? '..'
  return relative === '' || (!/^\.\.([/\\]|$)/.test(relative) && builtin('node:path')?.isAbsolute(relative) === false)
}

/** The path without links, undefined if nothing is there. */
function realOf(files: typeof fs, path: string): string | undefined {
  try {
    return files.realpathSync.native(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new VarveError('IO', `cannot look at '${path}': ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

function workingDirectory(): string | undefined {
  try {
    return process.cwd()
  } catch {
    return undefined // it was removed
  }
}

function namesIn(files: typeof fs, folder: string): readonly string[] {
  try {
    return files.readdirSync(folder)
  } catch {
    return [] // the restore reports it
  }
}

/** `restore({ clean: true })`: which targets it refuses, what it removes, and in which order. */
import type * as fs from 'node:fs'
import { builtin } from '../host/builtin.ts'
import { codeOf } from '../host/permission.ts'
import { VarveError } from '../errors.ts'
import { FORMAT_FILES, FORMAT_FOLDER, isOfVarve, SECRET_FOLDER } from '../host/format.ts'
import { type FileEntry, isFile } from '../values/manifest.ts'
import { isLeftover, walk, type TreeEntry } from './walk.ts'

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
  const [first, second] = [one, other].map((path) => files.lstatSync(path, { bigint: true, throwIfNoEntry: false }))
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

/**
 * Finds the files for the paths of a caller, without reading contents: names and kinds only, sorted, links never followed. The engine
 * examines again the files that it opens.
 */
import type { Dirent } from 'node:fs'
import type * as fs from 'node:fs'
import { refused, VarveError } from '../errors.ts'
import { codeOf } from '../host/permission.ts'
import type * as paths from 'node:path'
import { builtin } from '../host/builtin.ts'
import { describe } from '../checks/options.ts'
import { byPath, type FileEntry } from '../values/manifest.ts'

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

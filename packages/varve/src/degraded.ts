/**
 * What keeps a folder from being used as a cache, found before it is opened. What to do then:
 *
 *   cannot be trusted or is no folder  -> nothing of it is read, everything is kept in memory   ('memory')
 *   cannot be written                  -> what is there is read, what is new is kept in memory   ('unwritable')
 *   fails later: full, gone read-only  -> `commit` rejects, everything stays buffered and readable, the next commit
 *                                         that succeeds writes all of it                         ('unwritable')
 *
 * A relaxed commit of the first two resolves with `inMemory: true`, so that tools run the same everywhere; whoever asks
 * for a disk (`durable`, `flush`) gets PERMISSION. Only lasting conditions count here: an I/O error, or too many open
 * files, is the engine's to tell, so that no commit resolves by an accident.
 *
 * A folder is trusted if it, and the format's folder in it, is the effective user's and nobody else may write to it:
 * whoever can write to it decides what a build emits. `shared: true` trusts a folder of another owner, and one that
 * others may write to if it is sticky, so that nobody can replace what is not his.
 */
import type * as fs from 'node:fs'
import type * as path from 'node:path'
import { builtin } from './builtin.ts'
import { type ErrorCode, VarveError } from './errors.ts'
import type { CacheOptions } from './options.ts'

/** How a cache falls short, and what to do about it. */
export interface Degraded {
  /** `'memory'`: the folder is not used at all. `'unwritable'`: it is read, new entries are kept in memory. */
  readonly mode: 'memory' | 'unwritable'
  /** The error that durable commits get. */
  readonly code: ErrorCode
  /** What is the case, as part of a sentence. */
  readonly why: string
  /** What to do, as part of a sentence. */
  readonly mend: string
}

/** Who looks at a folder, and with what. */
interface FolderUser {
  readonly files: Pick<typeof fs, 'statSync' | 'lstatSync' | 'accessSync' | 'constants'>
  readonly paths: Pick<typeof path, 'join' | 'dirname'>
  /** Effective user; undefined where the system has none. */
  readonly user: number | undefined
  readonly isShared: boolean
  readonly isReader: boolean
}

const NAME_ANOTHER = "name another with option 'dir' or VARVE_DIR"

/**
 * What keeps `dir`, with its folder `name`, from being used; undefined where nothing does, where only opening it can tell,
 * and on hosts without files.
 */
export function examine(dir: string, name: string, options: Pick<CacheOptions, 'shared' | 'readOnly'>): Degraded | undefined {
  const [files, paths] = [builtin('node:fs'), builtin('node:path')]
  if (files === undefined || paths === undefined) return undefined
  const { shared: isShared = false, readOnly: isReader = false } = options
  const user = { files, paths, user: globalThis.process?.geteuid?.(), isShared, isReader }
  for (const folder of [dir, paths.join(dir, name)]) {
    try {
      // The cache's own folder may be a link that its owner made; below it none is followed.
      const stats = folder === dir ? files.statSync(folder) : files.lstatSync(folder)
      const problem = untrusted(folder, stats, user)
      if (problem !== undefined) return problem
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') return blocked(folder, error)
      if (folder === dir) return isLink(folder, files) ? noFolder(folder, 'a broken symbolic link') : unmade(dir, user)
      return unwritable(dir, user)
    }
  }
  return unwritable(paths.join(dir, name), user)
}

/** What a failed commit means for what comes next. */
export function degradedBy({ code, message }: VarveError): Degraded | undefined {
  if (code !== 'DISK_FULL' && code !== 'PERMISSION' && code !== 'IO') return undefined
  const mend = code === 'DISK_FULL' ? 'free some space' : `mend the folder, or ${NAME_ANOTHER}`
  return { mode: 'unwritable', code, why: message, mend: `${mend}; the next commit writes everything that was kept` }
}

/** The one warning. */
export function degradedWarning({ mode, code, why, mend }: Degraded): VarveError {
  const what = mode === 'memory' ? 'the cache is kept in memory and gone with this process' : 'the cache is read, what is new is kept in memory'
  return new VarveError(code, `${what}: ${why}; ${mend}`)
}

/** In memory because there is no place for a folder, or no access to what is in it. */
export function inMemory(why: string): Degraded {
  return { mode: 'memory', code: 'PERMISSION', why, mend: "name a folder with option 'dir' or VARVE_DIR" }
}

function untrusted(folder: string, stats: fs.Stats, { user, isShared }: FolderUser): Degraded | undefined {
  if (stats.isSymbolicLink()) return noFolder(folder, 'a symbolic link')
  if (!stats.isDirectory()) return noFolder(folder, 'not a folder')
  if (user === undefined) return undefined
  if (stats.uid !== user && !isShared) {
    const why = `'${folder}' belongs to user ${stats.uid}, not to ${user}, and its owner would decide what is built`
    return { mode: 'memory', code: 'PERMISSION', why, mend: `change its owner, ${NAME_ANOTHER}, or trust it with shared: true` }
  }
  const isSticky = (stats.mode & 0o1000) !== 0
  if ((stats.mode & 0o022) === 0 || (isShared && isSticky)) return undefined
  const why = `others may write to '${folder}' (mode ${(stats.mode & 0o7777).toString(8)}) and would decide what is built`
  const sticky = isSticky ? 'trust it with shared: true' : "make it sticky ('chmod +t') and trust it with shared: true"
  return { mode: 'memory', code: 'PERMISSION', why, mend: `take that right away ('chmod go-w'), ${NAME_ANOTHER}, or ${sticky}` }
}

/** The folder is there: may we write to it? */
function unwritable(folder: string, { files, isReader }: FolderUser): Degraded | undefined {
  const { R_OK, W_OK, X_OK } = files.constants
  try {
    files.accessSync(folder, isReader ? R_OK | X_OK : R_OK | W_OK | X_OK)
    return undefined
  } catch (error) {
    if (isReader || !isReadable(folder, files)) return blocked(folder, error)
    return forbids(folder, error)
  }
}

/** The folder is not there: may we make it? */
function unmade(dir: string, user: FolderUser): Degraded | undefined {
  const { files, paths } = user
  if (user.isReader) return undefined
  for (let folder = paths.dirname(dir); ; folder = paths.dirname(folder)) {
    try {
      files.accessSync(folder, files.constants.W_OK | files.constants.X_OK)
      return files.statSync(folder).isDirectory() ? undefined : noFolder(folder, 'not a folder')
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || paths.dirname(folder) === folder) return forbids(folder, error)
      if (isLink(folder, files)) return noFolder(folder, 'a broken symbolic link')
    }
  }
}

function forbids(folder: string, error: unknown): Degraded | undefined {
  const code = codeOf(error)
  if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') return blocked(folder, error)
  const why = code === 'EROFS' ? `'${folder}' is on a read-only disk` : `'${folder}' may not be written to (${code})`
  return { mode: 'unwritable', code: 'PERMISSION', why, mend: `make it writable for this user, or ${NAME_ANOTHER}` }
}

/** Not even to be looked at. What may pass is left to the engine. */
function blocked(folder: string, error: unknown): Degraded | undefined {
  const code = codeOf(error)
  if (code === 'ENOTDIR') return noFolder(folder, 'below something that is not a folder')
  if (code === 'ELOOP') return noFolder(folder, 'a symbolic link that leads to itself')
  if (code !== 'EACCES' && code !== 'EPERM') return undefined
  const why = `'${folder}' may not be read (${code})`
  return { mode: 'memory', code: 'PERMISSION', why, mend: `give this user access to it, or ${NAME_ANOTHER}` }
}

function noFolder(folder: string, what: string): Degraded {
  return { mode: 'memory', code: 'IO', why: `'${folder}' is ${what}`, mend: `remove it, or ${NAME_ANOTHER}` }
}

function isLink(folder: string, files: FolderUser['files']): boolean {
  try {
    return files.lstatSync(folder).isSymbolicLink()
  } catch {
    return false
  }
}

function isReadable(folder: string, files: FolderUser['files']): boolean {
  try {
    files.accessSync(folder, files.constants.R_OK | files.constants.X_OK)
    return true
  } catch {
    return false
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/**
 * What keeps a folder from being used as a cache, found before it is opened. What to do then:
 *
 *   cannot be trusted or is no folder  -> nothing of it is read, everything is kept in memory   ('memory')
 *   cannot be written                  -> what is there is read, what is new is kept in memory   ('unwritable')
 *   fails later: full, gone read-only  -> `commit` rejects, everything stays buffered and readable, the next commit
 *                                         that succeeds writes all of it                         ('unwritable')
 *   files may not be synced            -> relaxed commits as ever; `durable` and `flush` reject  ('unsynced')
 *
 * A relaxed commit of the first two resolves with `inMemory: true`, so that tools run the same everywhere; whoever asks
 * for a disk (`durable`, `flush`) gets PERMISSION. Only lasting conditions count here: an I/O error, or too many open
 * files, is the engine's to tell, so that no commit resolves by an accident.
 *
 * A folder is trusted if no other user can replace it or what is in it: `trust.ts` has the rules, `place.ts` says when
 * they are asked again.
 */
import type * as fs from 'node:fs'
import type * as path from 'node:path'
import { builtin } from '../host/builtin.ts'
import { type ErrorCode, VarveError } from '../errors.ts'
import type { CacheOptions } from '../options.ts'
import { errorCode, isSyncRefused, refusal, userHere } from '../host/permission.ts'
import { componentsOf, distrustDirectory, distrustLink, isWritable, NAME_ANOTHER, type Stopped } from './trust.ts'

/** How a cache falls short, and what to do about it. */
export interface Degraded {
  /**
   * `'memory'`: the folder is not used at all. `'unwritable'`: it is read, new entries are kept in memory. `'unsynced'`: it is
   * read and written, but the host refuses to sync files: only relaxed commits work.
   */
  readonly mode: 'memory' | 'unwritable' | 'unsynced'
  /** The error that durable commits get. */
  readonly code: ErrorCode
  /** What is the case, as part of a sentence. */
  readonly why: string
  /** What to do, as part of a sentence. */
  readonly mend: string
}

/** Who looks at a folder, and with what. */
interface FolderUser {
  readonly files: Pick<typeof fs, 'statSync' | 'lstatSync' | 'readlinkSync' | 'readFileSync' | 'accessSync' | 'constants'>
  readonly paths: Pick<typeof path, 'join' | 'dirname'>
  /** Effective user; undefined where the system has none. */
  readonly user: number | undefined
  readonly isShared: boolean
  readonly isReader: boolean
}

/** What a look at a folder found. */
export interface Examined {
  /** What keeps it from being used; undefined where nothing does, where only opening it can tell, and on hosts without files. */
  readonly degraded: Degraded | undefined
  /** The folder of the format is there. */
  readonly isThere: boolean
  /** It lies in a directory where every user may make things: another user could make one of its name if it is removed. */
  readonly isExposed: boolean
}

/** Looks at `dir` and its folder `name`, and at every directory on the way. */
export function examine(dir: string, name: string, options: Pick<CacheOptions, 'shared' | 'readOnly'>): Examined {
  const [files, paths] = [builtin('node:fs'), builtin('node:path')]
  if (files === undefined || paths === undefined) return { degraded: undefined, isThere: true, isExposed: false }
  const { shared: isShared = false, readOnly: isReader = false } = options
  const place = paths.join(dir, name)
  const hidden = hiddenBy(dir, isShared)
  if (hidden !== undefined) return { degraded: hidden, isThere: true, isExposed: false }
  const uid = userHere()
  const user = { files, paths, user: uid === 'unknown' ? undefined : uid, isShared, isReader }
  const { degraded, stopped, isExposed } = user.user === undefined ? lookAt(dir, place, user) : walk(place, { ...user, user: user.user })
  if (degraded !== undefined) return { degraded, isThere: true, isExposed }
  if (stopped === undefined) return { degraded: unwritable(place, user), isThere: true, isExposed }
  return { degraded: whyStopped(stopped, dir, user), isThere: false, isExposed }
}

/** Why the host does not let this process read `dir`, or know whose it is. */
function hiddenBy(dir: string, isShared: boolean): Degraded | undefined {
  const refused = refusal('read', dir)
  if (refused !== undefined) return { mode: 'memory', code: 'PERMISSION', ...refused }
  if (userHere() !== 'unknown' || isShared) return undefined
  const why = `this process may not ask which user it runs as, so it cannot know whose '${dir}' is`
  return { mode: 'memory', code: 'PERMISSION', why, mend: 'allow it with --allow-sys=uid, or trust the directory with shared: true' }
}

/** The host refuses to sync files; undefined where it does not. */
export function unsynced(): Degraded | undefined {
  const files = builtin('node:fs')
  if (files === undefined || !isSyncRefused(files)) return undefined
  const why = 'this process may not sync files (fsync), as under --permission of Node.js'
  return { mode: 'unsynced', code: 'PERMISSION', why, mend: 'after a power failure what is damaged is a miss; allow addons (--allow-addons) to sync' }
}

interface Walk {
  readonly degraded?: Degraded | undefined
  readonly stopped?: Stopped | undefined
  readonly isExposed: boolean
}

/** Every component of the path of the format's folder. */
function walk(place: string, user: FolderUser & { readonly user: number }): Walk {
  const components = componentsOf(place, user.files)
  let isExposed = false
  for (;;) {
    const step = components.next()
    if (step.done === true) return { stopped: step.value, isExposed }
    const { path: at, stats, left } = step.value
    const isSymbolic = stats.isSymbolicLink()
    if (isSymbolic && left === 0) return { degraded: noFolder(at, 'a symbolic link'), isExposed }
    if (!isSymbolic && !stats.isDirectory()) return { degraded: noFolder(at, 'not a folder'), isExposed }
    const found = isSymbolic ? distrustLink(step.value, user) : distrustDirectory(step.value, left < 2, user)
    if (found !== undefined) return { degraded: { mode: 'memory', code: 'PERMISSION', ...found }, isExposed }
    isExposed ||= !isSymbolic && left > 0 && isWritable(stats, user)
  }
}

/** The same on systems where files belong to nobody: kinds only. */
function lookAt(dir: string, place: string, { files }: FolderUser): Walk {
  for (const [folder, left] of [[dir, 1], [place, 0]] as const) {
    try {
      // The cache's own folder may be a link that its owner made; below it none is followed.
      const stats = left > 0 ? files.statSync(folder) : files.lstatSync(folder)
      const what = stats.isSymbolicLink() ? 'a symbolic link' : 'not a folder'
      if (!stats.isDirectory()) return { degraded: noFolder(folder, what), isExposed: false }
    } catch (error) {
      return { stopped: { path: folder, error, left }, isExposed: false }
    }
  }
  return { isExposed: false }
}

/** Not all of the path is there. */
function whyStopped({ path: at, error, left }: Stopped, dir: string, user: FolderUser): Degraded | undefined {
  if (error !== undefined && errorCode(error) !== 'ENOENT') return blocked(at, error)
  if (left === 0) return unwritable(dir, user)
  return isLink(dir, user.files) ? noFolder(dir, 'a broken symbolic link') : unmade(dir, user)
}

/** What a failed commit means for what comes next. */
export function degradedBy({ code, message }: VarveError): Degraded | undefined {
  if (code !== 'DISK_FULL' && code !== 'PERMISSION' && code !== 'IO') return undefined
  const mend = code === 'DISK_FULL' ? 'free some space' : `mend the folder, or ${NAME_ANOTHER}`
  return { mode: 'unwritable', code, why: message, mend: `${mend}; the next commit writes everything that was kept` }
}

const EFFECTS: Readonly<Record<Degraded['mode'], string>> = {
  memory: 'the cache is kept in memory and gone with this process',
  unwritable: 'the cache is read, what is new is kept in memory',
  unsynced: 'the cache is read and written, but not synced',
}

/** The one warning. */
export function degradedWarning({ mode, code, why, mend }: Degraded): VarveError {
  return new VarveError(code, `${EFFECTS[mode]}: ${why}; ${mend}`)
}

/** In memory because there is no place for a folder, or no access to what is in it. */
export function inMemory(why: string): Degraded {
  return { mode: 'memory', code: 'PERMISSION', why, mend: "name a folder with option 'dir' or VARVE_DIR" }
}

/** The folder is there: may we write to it? */
function unwritable(folder: string, { files, isReader }: FolderUser): Degraded | undefined {
  const refused = isReader ? undefined : refusal('write', folder)
  if (refused !== undefined) return { mode: 'unwritable', code: 'PERMISSION', ...refused }
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
  const refused = refusal('write', dir)
  if (refused !== undefined) return { mode: 'unwritable', code: 'PERMISSION', ...refused }
  for (let folder = paths.dirname(dir); ; folder = paths.dirname(folder)) {
    try {
      files.accessSync(folder, files.constants.W_OK | files.constants.X_OK)
      return files.statSync(folder).isDirectory() ? undefined : noFolder(folder, 'not a folder')
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' || paths.dirname(folder) === folder) return forbids(folder, error)
      if (isLink(folder, files)) return noFolder(folder, 'a broken symbolic link')
    }
  }
}

function forbids(folder: string, error: unknown): Degraded | undefined {
  const code = errorCode(error)
  if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') return blocked(folder, error)
  const why = code === 'EROFS' ? `'${folder}' is on a read-only disk` : `'${folder}' may not be written to (${code})`
  return { mode: 'unwritable', code: 'PERMISSION', why, mend: `make it writable for this user, or ${NAME_ANOTHER}` }
}

/** Not even to be looked at. What may pass is left to the engine. */
function blocked(folder: string, error: unknown): Degraded | undefined {
  const code = errorCode(error)
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

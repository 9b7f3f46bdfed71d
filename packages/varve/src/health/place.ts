/**
 * The directory of an open cache: what limits its use, and whether it is still the one that was checked. Varve checks who can change it when
 * it opens the cache, and again before the engine reads or writes a directory that did not exist then: another user may have created it.
 *
 *   1. It does not exist and the engine is about to write: Varve creates it for its user only, and then checks it.
 *   2. It exists and is trusted: no other user can replace it, so it is not checked again.
 *   3. It is trusted, but is in a directory where every user may create files, such as /tmp: one `lstat` (2 us) before
 *      each use detects a replacement. Only then is it checked again.
 */
import { builtin } from '../host/builtin.ts'
import { makeDirectory, errorCode, isSyncRefused, refusal, userHere } from '../host/permission.ts'
import type { CacheOptions } from '../options.ts'
import type * as fs from 'node:fs'
import type * as path from 'node:path'
import { type ErrorCode, VarveError } from '../errors.ts'
import { componentsOf, distrustDirectory, distrustLink, isWritable, NAME_ANOTHER, type WalkEnd } from './trust.ts'

/** The directory of one open cache. */
export class Place {
  readonly dir: string
  readonly #name: string
  readonly #options: Pick<CacheOptions, 'shared' | 'readOnly'>
  #found: DirectoryState
  #identity: string | undefined

  /** `name`: of the format's folder in `dir`. */
  constructor(dir: string, name: string, options: Pick<CacheOptions, 'shared' | 'readOnly'>) {
    this.dir = dir
    this.#name = name
    this.#options = options
    this.#found = this.examine()
  }

  /** Whether it existed at the last check. */
  get isThere(): boolean {
    return this.#found.isThere
  }

  /** What limits its use, at the last check. */
  get degraded(): Degraded | undefined {
    return this.#found.degraded
  }

  examine(): DirectoryState {
    this.#found = examine(this.dir, this.#name, this.#options)
    this.#identity = this.#identify()
    return this.#found
  }

  /** Whether it is there, trusted, and the same directory as when it was last examined. */
  get isUnchanged(): boolean {
    const { isThere, isExposed } = this.#found
    return isThere && this.#isTrusted && (!isExposed || this.#identity === this.#identify())
  }

  /** Call before the engine reads or writes: why it must not; undefined if it may. */
  check(writes: boolean): Degraded | undefined {
    if (this.isUnchanged) return undefined
    if (writes && this.#options.readOnly === true) return undefined // the engine refuses
    this.examine()
    if (writes && !this.isThere && this.#isTrusted) {
      this.#make()
      this.examine()
    }
    return this.#isTrusted ? undefined : this.degraded
  }

  /** The engine reports a directory that cannot be written. */
  get #isTrusted(): boolean {
    return this.#found.degraded?.mode !== 'memory'
  }

  #make(): void {
    try {
      const files = builtin('node:fs')
      if (files !== undefined) makeDirectory(files, `${this.dir}/${this.#name}`, 0o700)
    } catch {
      // The engine gets the same error and reports it.
    }
  }

  #identify(): string | undefined {
    if (!this.#found.isExposed) return undefined
    try {
      const stats = builtin('node:fs')?.lstatSync(`${this.dir}/${this.#name}`, { throwIfNoEntry: false })
      return stats === undefined ? undefined : `${stats.dev}-${stats.ino}`
    } catch {
      return undefined
    }
  }
}

// Conditions that limit the use of a cache directory, found before it is opened, and what follows from them:
//
//   cannot be trusted, or is not a directory  -> Varve reads nothing of it and keeps the cache in memory   ('memory')
//   cannot be written                         -> Varve reads it and keeps new entries in memory            ('unwritable')
//   fails later: full, or read-only           -> `commit` rejects, all entries stay buffered and readable, the next
//                                                successful commit writes them                             ('unwritable')
//   files cannot be synced                    -> relaxed commits work; `durable` and `flush` reject        ('unsynced')
//
// A relaxed commit in the first two cases resolves with `inMemory: true`, so that tools run the same everywhere; `durable`
// commits and `flush` reject with PERMISSION. Only lasting conditions count here. The engine reports the others, such as an
// I/O error or too many open files, so that a commit never resolves by accident.
//
// A directory is trusted if no other user can replace it or its files: `trust.ts` has the rules, `Place` decides when
// they are checked again.

/** What limits a cache, and how to fix it. */
export interface Degraded {
  /**
   * `'memory'`: the directory is not used. `'unwritable'`: it is read, new entries stay in memory. `'unsynced'`: it is read
   * and written, but the host refuses to sync files, so only relaxed commits work.
   */
  readonly mode: 'memory' | 'unwritable' | 'unsynced'
  /** The error code of durable commits. */
  readonly code: ErrorCode
  /** The reason, as part of a sentence. */
  readonly why: string
  /** What to do about it, as part of a sentence. */
  readonly fix: string
}

/** The user that opens a directory, and the modules to examine it with. */
interface FolderUser {
  readonly files: Pick<
    typeof fs,
    'statSync' | 'lstatSync' | 'readlinkSync' | 'readFileSync' | 'accessSync' | 'constants'
  >
  readonly paths: Pick<typeof path, 'join' | 'dirname'>
  /** Effective user; undefined if the system has none. */
  readonly user: number | undefined
  readonly isShared: boolean
  readonly isReader: boolean
}

/** The result of an examination. */
export interface DirectoryState {
  /** What limits it; undefined if nothing does, if only opening it can show that, and on hosts without files. */
  readonly degraded: Degraded | undefined
  /** Whether the directory of the format exists. */
  readonly isThere: boolean
  /** Whether every user can create files beside it: if it is removed, another user could create one of its name. */
  readonly isExposed: boolean
}

/** Examines `dir`, its directory `name`, and every directory above. */
export function examine(dir: string, name: string, options: Pick<CacheOptions, 'shared' | 'readOnly'>): DirectoryState {
  const files = builtin('node:fs')
  const paths = builtin('node:path')
  if (files === undefined || paths === undefined) return { degraded: undefined, isThere: true, isExposed: false }
  const { shared: isShared = false, readOnly: isReader = false } = options
  const place = paths.join(dir, name)
  const hidden = hiddenBy(dir, isShared)
  if (hidden !== undefined) return { degraded: hidden, isThere: true, isExposed: false }
  const uid = userHere()
  const user = { files, paths, user: uid === 'unknown' ? undefined : uid, isShared, isReader }
  const { degraded, stopped, isExposed } =
    user.user === undefined ? lookAt(dir, place, user) : walk(place, { ...user, user: user.user })
  if (degraded !== undefined) return { degraded, isThere: true, isExposed }
  if (stopped === undefined) return { degraded: unwritable(place, user), isThere: true, isExposed }
  return { degraded: whyStopped(stopped, dir, user), isThere: false, isExposed }
}

/** Why the host hides `dir`, or its owner, from this process. */
function hiddenBy(dir: string, isShared: boolean): Degraded | undefined {
  const refused = refusal('read', dir)
  if (refused !== undefined) return { mode: 'memory', code: 'PERMISSION', ...refused }
  if (userHere() !== 'unknown' || isShared) return undefined
  const why = `this process may not query its user, so it cannot check who owns '${dir}'`
  return {
    mode: 'memory',
    code: 'PERMISSION',
    why,
    fix: 'allow it with --allow-sys=uid, or trust the directory with shared: true',
  }
}

/** The limit of a host that refuses to sync files; undefined for other hosts. */
export function unsynced(): Degraded | undefined {
  const files = builtin('node:fs')
  if (files === undefined || !isSyncRefused(files)) return undefined
  const why = 'this process may not sync files (fsync), as under --permission of Node.js'
  const fix = 'allow addons (--allow-addons) to sync files; without it, entries that a power failure damages are misses'
  return { mode: 'unsynced', code: 'PERMISSION', why, fix }
}

interface Walk {
  readonly degraded?: Degraded | undefined
  readonly stopped?: WalkEnd | undefined
  readonly isExposed: boolean
}

/** Examines every component of the path of the format's directory. */
function walk(place: string, user: FolderUser & { readonly user: number }): Walk {
  const components = componentsOf(place, user.files)
  let isExposed = false
  for (;;) {
    const step = components.next()
    if (step.done === true) return { stopped: step.value, isExposed }
    const { path: at, stats, left } = step.value
    const isSymbolic = stats.isSymbolicLink()
    if (isSymbolic && left === 0) return { degraded: noFolder(at, 'a symbolic link'), isExposed }
    if (!isSymbolic && !stats.isDirectory()) return { degraded: noFolder(at, 'not a directory'), isExposed }
    const found = isSymbolic ? distrustLink(step.value, user) : distrustDirectory(step.value, left < 2, user)
    if (found !== undefined) return { degraded: { mode: 'memory', code: 'PERMISSION', ...found }, isExposed }
    isExposed ||= !isSymbolic && left > 0 && isWritable(stats, user)
  }
}

/** Examines a place on systems without file owners: only the types of the files count. */
function lookAt(dir: string, place: string, { files }: FolderUser): Walk {
  for (const [folder, left] of [
    [dir, 1],
    [place, 0],
  ] as const) {
    try {
      // The cache directory itself may be a link that its owner made; links inside it are not followed.
      const stats = left > 0 ? files.statSync(folder) : files.lstatSync(folder)
      const what = stats.isSymbolicLink() ? 'a symbolic link' : 'not a directory'
      if (!stats.isDirectory()) return { degraded: noFolder(folder, what), isExposed: false }
    } catch (error) {
      return { stopped: { path: folder, error, left }, isExposed: false }
    }
  }
  return { isExposed: false }
}

/** The limit that follows from a walk which ended before the end of the path. */
function whyStopped({ path: at, error, left }: WalkEnd, dir: string, user: FolderUser): Degraded | undefined {
  if (error !== undefined && errorCode(error) !== 'ENOENT') return blocked(at, error)
  if (left === 0) return unwritable(dir, user)
  return isLink(dir, user.files) ? noFolder(dir, 'a broken symbolic link') : unmade(dir, user)
}

/** The limit that follows from a failed commit. */
export function degradedBy({ code, message }: VarveError): Degraded | undefined {
  if (code === 'NOT_A_CACHE') return { mode: 'unwritable', code, why: message, fix: 'nothing in it was changed' }
  if (code !== 'DISK_FULL' && code !== 'PERMISSION' && code !== 'IO') return undefined
  const fix = code === 'DISK_FULL' ? 'free some space' : `make the directory writable again, or ${NAME_ANOTHER}`
  return { mode: 'unwritable', code, why: message, fix: `${fix}; the next commit writes all buffered entries` }
}

const EFFECTS: Readonly<Record<Degraded['mode'], string>> = {
  memory: 'using an in-memory cache, which is discarded when the process exits',
  unwritable: 'the cache cannot be written, so new entries stay in memory',
  unsynced: 'the cache is read and written, but its files cannot be synced',
}

export function degradedWarning({ mode, code, why, fix }: Degraded): VarveError {
  return new VarveError(code, `${EFFECTS[mode]}: ${why}; ${fix}`)
}

/** The limit if there is no cache directory, or no access to its files. */
export function inMemory(why: string): Degraded {
  return { mode: 'memory', code: 'PERMISSION', why, fix: "set option 'dir' or VARVE_DIR to another directory" }
}

/** The limit of a process that can start no engine. */
export function noEngine({ code, message }: VarveError): Degraded {
  return { mode: 'memory', code, why: message, fix: 'until then, files, archives, layers and remotes are not used' }
}

/** The limit of a directory that exists: whether this process may write to it. */
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

/** The limit of a directory that does not exist: whether this process may create it. */
function unmade(dir: string, user: FolderUser): Degraded | undefined {
  const { files, paths } = user
  if (user.isReader) return undefined
  const refused = refusal('write', dir)
  if (refused !== undefined) return { mode: 'unwritable', code: 'PERMISSION', ...refused }
  for (let folder = paths.dirname(dir); ; folder = paths.dirname(folder)) {
    try {
      files.accessSync(folder, files.constants.W_OK | files.constants.X_OK)
      return files.statSync(folder).isDirectory() ? undefined : noFolder(folder, 'not a directory')
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
  const fix = `${takeOver(folder) ?? 'make it writable for this user'}, or ${NAME_ANOTHER}`
  return { mode: 'unwritable', code: 'PERMISSION', why, fix }
}

/** The limit of a directory that cannot be examined. The engine reports conditions that may pass. */
function blocked(folder: string, error: unknown): Degraded | undefined {
  const code = errorCode(error)
  if (code === 'ENOTDIR') return noFolder(folder, 'below a file that is not a directory')
  if (code === 'ELOOP') return noFolder(folder, 'a symbolic link that leads to itself')
  if (code !== 'EACCES' && code !== 'EPERM') return undefined
  const why = `'${folder}' may not be read (${code})`
  const fix = `${takeOver(folder) ?? 'give this user access to it'}, or ${NAME_ANOTHER}`
  return { mode: 'memory', code: 'PERMISSION', why, fix }
}

/**
 * The one command that gives this user a directory of another one, such as that of a container which ran as root: it names
 * the highest directory below one of this user's. Undefined if `folder` is this user's.
 */
function takeOver(folder: string): string | undefined {
  const files = builtin('node:fs')
  const paths = builtin('node:path')
  const user = userHere()
  if (files === undefined || paths === undefined || typeof user !== 'number') return undefined
  let lowest: string | undefined
  let highest: string | undefined
  for (let at = folder; ; at = paths.dirname(at)) {
    const owner = ownerOf(at, files)
    if (owner === user) break
    highest = at
    if (owner !== undefined) lowest ??= at
    if (paths.dirname(at) !== at) continue
    highest = lowest // no directory is this user's
    break
  }
  return highest === undefined ? undefined : `run "sudo chown -R ${user} '${highest.replaceAll("'", "'\\''")}'"`
}

/** Undefined if a directory above is closed to this user, or nothing is there. */
function ownerOf(path: string, files: Pick<typeof fs, 'lstatSync'>): number | undefined {
  try {
    return files.lstatSync(path, { throwIfNoEntry: false })?.uid
  } catch {
    return undefined
  }
}

function noFolder(folder: string, what: string): Degraded {
  return { mode: 'memory', code: 'IO', why: `'${folder}' is ${what}`, fix: `remove it, or ${NAME_ANOTHER}` }
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

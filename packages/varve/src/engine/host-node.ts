/**
 * Files of one folder for the WebAssembly engine, over the synchronous calls of `node:fs`. Regular files only: whatever
 * else stands under a name of ours is refused without waiting for it. Folders are made 0700, files 0600.
 */
import type * as fs from 'node:fs'
import type { Host } from '../../generated/varve_wasm.js'
import {
  nowUs,
  errnoOf,
  EXISTS,
  FORBIDDEN,
  INVALID,
  NO_FOLDER,
  NOT_FOUND,
  READ_ONLY,
  REFUSED,
  UNSUPPORTED,
} from './host.ts'
import { makeDirectory, codeOf, isSyncRefused } from '../host/permission.ts'

/** Error codes of `link` on file systems without hard links. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'EXDEV', 'ENOSYS'])

/** How many folders above ours get their entries synced the first time: the cache's own and the one it lies in. */
const ANCESTORS_SYNCED = 2

/** Windows syncs a file only with write access, and the engine syncs files of other users, which stay readable. */
const MAY_NOT_WRITE: ReadonlySet<number> = new Set([FORBIDDEN, READ_ONLY, REFUSED])

/** The answers to a call that the system denies. */
const DENIED: ReadonlySet<number> = new Set([FORBIDDEN, REFUSED])

/** Read each time, because a test may change it. */
const isWindows = (): boolean => process.platform === 'win32'

/** Files of `folder`, which has `above` folders of ours above it. `files` is `node:fs`. */
export function nodeHost(files: typeof fs, folder: string, above: readonly string[] = []): Host {
  const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = files.constants
  const pathOf = (name: string): string => `${folder}/${name}`
  const openRegular = (name: string, flags: number): number => {
    const file = files.openSync(pathOf(name), flags | O_NOFOLLOW | O_NONBLOCK, 0o600)
    if (files.fstatSync(file).isFile()) return file
    files.closeSync(file)
    return INVALID
  }
  const ownName = new OwnName(files, folder)
  const checkReal = realCheck(files, [...above, folder])
  const create = (name: string): number => openRegular(name, O_CREAT | O_EXCL | O_RDWR)
  const unlessRemoved = (name: string, answer: number, instead = NOT_FOUND): number =>
    isRemoved(files, pathOf(name), answer) ? instead : answer
  return {
    list: () => namesOf(files, folder, 'file'),
    folders: () => namesOf(files, folder, 'folder'),
    open(name) {
      const file = isWindows() ? attempt(() => openRegular(name, O_RDWR)) : REFUSED
      return MAY_NOT_WRITE.has(file)
        ? unlessRemoved(
            name,
            attempt(() => openRegular(name, O_RDONLY)),
          )
        : file
    },
    createNew(name) {
      const file = done(checkReal) || attempt(() => create(name))
      if (file !== NOT_FOUND) return unlessRemoved(name, file, EXISTS)
      return attempt(() => {
        makeDirectory(files, folder, 0o700)
        ownName.isSynced = false
        return create(name)
      })
    },
    stat: (name, target) =>
      unlessRemoved(
        name,
        attempt(() => statInto(files, pathOf(name), target)),
        0,
      ),
    link: (source, target) => done(checkReal) || linkNew(files, pathOf(source), pathOf(target)),
    rename: (source, target) =>
      done(checkReal) ||
      unlessRemoved(
        source,
        done(() => files.renameSync(pathOf(source), pathOf(target))),
      ),
    remove: (name) =>
      done(checkReal) ||
      unlessRemoved(
        name,
        done(() => files.unlinkSync(pathOf(name))),
      ),
    folder: (name) => (isNoFolder(files, pathOf(name)) ? noFolder : nodeHost(files, pathOf(name), [...above, folder])),
    syncFolder() {
      const synced = syncFolder(files, folder)
      if (synced === 0) ownName.sync()
      return synced
    },
    size: (file) => attempt(() => files.fstatSync(file).size),
    read: (file, offset, target) => attempt(() => readAt(files, file, offset, target)),
    append: (file, bytes) => done(() => appendAll(files, file, bytes)),
    sync: (file) =>
      unlessRefused(
        files,
        done(() => files.fdatasyncSync(file)),
      ),
    close: (file) => closeFile(files, file),
    now: nowUs,
  }
}

/** A file from this size on takes long to close if that frees its bytes. */
const LARGE_BYTES = 1024 * 1024

/** Closes a file; a large one that was removed meanwhile on another thread: its bytes are freed with the last descriptor. */
function closeFile(files: typeof fs, file: number): void {
  try {
    const { nlink, size } = files.fstatSync(file)
    if (nlink === 0 && size >= LARGE_BYTES) return files.close(file, () => undefined)
    files.closeSync(file)
  } catch {
    // It is closed, or never will be: nothing depends on it.
  }
}

function statInto(files: typeof fs, path: string, target: Float64Array): number {
  const stats = files.lstatSync(path, { throwIfNoEntry: false })
  if (stats?.isFile() !== true) return 0
  target[0] = stats.ino
  target[1] = stats.size
  target[2] = stats.ctimeMs
  return 1
}

/**
 * Whether a call got this answer because the file is removed and keeps its name as long as it is open, as on Windows. The system
 * denies every access to it. Of a file that a process may not read, it shows what the folder does.
 */
function isRemoved(files: typeof fs, path: string, answer: number): boolean {
  return DENIED.has(answer) && isWindows() && DENIED.has(done(() => void files.lstatSync(path)))
}

/** Whether something else has the name: a link would lead out of the cache. */
function isNoFolder(files: typeof fs, path: string): boolean {
  try {
    return files.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false
  } catch {
    return false
  }
}

/** Stands for what has the name of a folder and is none. */
const noFolder: Host = {
  list: () => NO_FOLDER,
  folders: () => NO_FOLDER,
  open: () => NO_FOLDER,
  createNew: () => NO_FOLDER,
  stat: () => NO_FOLDER,
  link: () => NO_FOLDER,
  rename: () => NO_FOLDER,
  remove: () => NO_FOLDER,
  folder: () => noFolder,
  syncFolder: () => NO_FOLDER,
  size: () => NO_FOLDER,
  read: () => NO_FOLDER,
  append: () => NO_FOLDER,
  sync: () => NO_FOLDER,
  close: () => undefined,
  now: nowUs,
}

/** Throws if a directory of the cache is a symbolic link, which would redirect writes. */
function realCheck(files: typeof fs, folders: readonly string[]): () => void {
  let isReal = false
  return () => {
    isReal ||= folders.every((folder) => isRealFolder(files, folder))
  }
}

/** Whether a folder is there and no link, which throws. */
function isRealFolder(files: typeof fs, folder: string): boolean {
  const stats = files.lstatSync(folder, { throwIfNoEntry: false })
  if (stats?.isSymbolicLink() === true)
    throw Object.assign(new Error(`'${folder}' is a symbolic link`), { code: 'EACCES' })
  return stats !== undefined
}

/** Bytes of all regular files in a folder. */
export function folderBytes(files: typeof fs, folder: string): number {
  const names = namesOf(files, folder, 'file')
  if (typeof names === 'number') return 0
  let bytes = 0
  for (const name of names.split('\0')) {
    try {
      bytes += files.statSync(`${folder}/${name}`, { throwIfNoEntry: false })?.size ?? 0
    } catch {
      // Only a rough size is needed here; reading the file reports the error.
    }
  }
  return bytes
}

/** Names of one kind in a folder. */
function namesOf(files: typeof fs, folder: string, kind: 'file' | 'folder'): string | number {
  try {
    const entries = files.readdirSync(folder, { withFileTypes: true })
    const wanted = entries.filter((entry) => (kind === 'file' ? entry.isFile() : entry.isDirectory()))
    return wanted.map((entry) => entry.name).join('\0')
  } catch (error) {
    const errno = errnoOf(error)
    return errno === NOT_FOUND ? '' : errno
  }
}

function linkNew(files: typeof fs, source: string, target: string): number {
  try {
    files.linkSync(source, target)
    return 0
  } catch (error) {
    const answer = errnoOf(error)
    if (isRemoved(files, target, answer)) return EXISTS
    if (isRemoved(files, source, answer)) return NOT_FOUND
    const code = codeOf(error)
    return typeof code === 'string' && NO_LINKS.has(code) ? UNSUPPORTED : answer
  }
}

/** The folder that a folder is in; paths here are absolute, with either separator on Windows. */
function parentOf(folder: string): string {
  const end = Math.max(folder.lastIndexOf('/'), folder.lastIndexOf('\\'))
  return end > 0 ? folder.slice(0, end) : folder.slice(0, end + 1) || folder
}

/** Windows cannot sync a folder and keeps names by itself; a folder that does not exist yet has none to keep. */
function syncFolder(files: typeof fs, folder: string): number {
  if (isWindows()) return 0
  const synced = done(() => {
    const handle = files.openSync(folder, 'r')
    try {
      files.fsyncSync(handle)
    } finally {
      files.closeSync(handle)
    }
  })
  return synced === NOT_FOUND ? 0 : unlessRefused(files, synced)
}

/** Where every sync is refused, `Degraded.mode` is 'unsynced': nothing is called durable, and relaxed commits go on. */
function unlessRefused(files: typeof fs, synced: number): number {
  return synced === REFUSED && isSyncRefused(files) ? 0 : synced
}

/** Distinguishes a folder from one that is created again under its name, and may have its inode. */
function identityOf(files: typeof fs, folder: string): string | undefined {
  try {
    const stats = files.lstatSync(folder, { throwIfNoEntry: false })
    return stats === undefined ? undefined : `${stats.ino} ${stats.birthtimeMs}`
  } catch {
    return undefined
  }
}

/** The name of a folder in those above it, which has to survive, whichever process made the folder. */
class OwnName {
  readonly #files: typeof fs
  readonly #folder: string
  /** The folder whose name was synced: another one has it if the folder was removed. */
  #identity: string | undefined
  /** Set to false when this process has made the folder. */
  isSynced = false

  constructor(files: typeof fs, folder: string) {
    this.#files = files
    this.#folder = folder
  }

  /** Syncs it once for each folder that gets this name. Folders above may not be ours to open. */
  sync(): void {
    const identity = identityOf(this.#files, this.#folder)
    if (this.isSynced && identity !== undefined && identity === this.#identity) return
    this.#identity = identity
    this.isSynced = true
    let ancestor = this.#folder
    for (let i = 0; i < ANCESTORS_SYNCED; i++) syncFolder(this.#files, (ancestor = parentOf(ancestor)))
  }
}

function readAt(files: typeof fs, file: number, offset: number, target: Uint8Array): number {
  let filled = 0
  while (filled < target.length) {
    const count = files.readSync(file, target, filled, target.length - filled, offset + filled)
    if (count === 0) break
    filled += count
  }
  return filled
}

function appendAll(files: typeof fs, file: number, bytes: Uint8Array): void {
  let written = 0
  while (written < bytes.length) written += files.writeSync(file, bytes, written, bytes.length - written, null)
}

function done(run: () => void): number {
  return attempt(() => {
    run()
    return 0
  })
}

function attempt(run: () => number): number {
  try {
    return run()
  } catch (error) {
    return errnoOf(error)
  }
}

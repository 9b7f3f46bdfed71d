/**
 * The state of files during one run. Each file is examined once, and its content is read only if necessary.
 *
 * A file is unchanged if size, mtime, ctime and inode are the recorded ones. Every write changes ctime and no program can set
 * it, so a file with its old size and mtime is still detected. The inode differs if a link leads to another file, or another
 * folder has the name, whose files may have the same times. If one differs, the content decides, and the entry gets the new
 * stamp. If the times are so recent that a later write might not change them ("racy clean"), zeros are recorded, and the
 * content decides next time.
 *
 * Everything is synchronous: a `statSync` costs 1 us, a stat by promise 16 us.
 */
import type * as fs from 'node:fs'
import { digestOfFile, digestOfNames, digestOfPieces } from './digest.ts'
import type { Root } from './root.ts'

/** What is used of `node:fs`. */
export type FileReads = Pick<
  typeof fs,
  'closeSync' | 'openSync' | 'readdirSync' | 'readFileSync' | 'readSync' | 'statSync'
>

/** Time in which two writes may leave the same timestamp: a tick of the system's clock, or the whole seconds of FAT. */
export const TICK_MS = 20
export const COARSE_TICK_MS = 2000

/** Larger files are hashed in pieces of this many bytes. */
export const PIECE_BYTES: number = 4 * 1024 * 1024

/** The digest of a missing file. */
const MISSING = 'missing'

/** The result of `stat`: the file's, that it does not exist, or that it cannot be determined. */
export type Look = fs.Stats | 'missing' | 'unreadable'

/** What identifies a state of a file without its content; zeros if only the content does. */
export type Stamp = readonly [size: number, mtimeMs: number, ctimeMs: number, ino: number]

export const NO_STAMP: Stamp = [0, 0, 0, 0]

/** A file as recorded. Records of earlier versions have no inode, so the content decides once. */
export type RecordedFile = readonly [path: string, digest: string, ...stamp: Stamp]

/** The files of one root as they are during one run. */
export class Files {
  /** When the run began. */
  readonly startMs: number = Date.now()
  readonly #fs: FileReads
  readonly #root: Root
  readonly #looks: Map<string, Look> = new Map()
  readonly #digests: Map<string, string | undefined> = new Map()

  constructor(files: FileReads, root: Root) {
    this.#fs = files
    this.#root = root
  }

  /** How the file differs from the record: not at all, only in its stamp, or in its content. */
  compare([path, digest, ...stamp]: RecordedFile): 'same' | 'moved' | 'changed' {
    const look = this.#look(path)
    if (stamp[1] !== 0 && isSameStamp(stampOf(look), stamp)) return 'same'
    if (this.digestOf(path) !== digest) return 'changed'
    // A record with times of 0 again would not help.
    return typeof look === 'object' && look.mtimeMs !== 0 && !this.isYoung(path) ? 'moved' : 'same'
  }

  /** The file's record; undefined if its content cannot be determined. */
  record(path: string): RecordedFile | undefined {
    const digest = this.digestOf(path)
    if (digest === undefined) return undefined
    return [path, digest, ...(this.isYoung(path) ? NO_STAMP : stampOf(this.#look(path)))]
  }

  /** Digest of the content, MISSING, or undefined if it cannot be determined. */
  digestOf(path: string): string | undefined {
    if (this.#digests.has(path)) return this.#digests.get(path)
    // Stat before the read: if the file changes in between, the recorded times are too old, never too new.
    const look = this.#look(path)
    const digest = typeof look === 'object' ? this.#read(path, look) : look === 'missing' ? MISSING : undefined
    this.#digests.set(path, digest)
    return digest
  }

  /** Whether the file was changed so short before the run that a change after its beginning may look the same. */
  isYoung(path: string): boolean {
    const look = this.#look(path)
    if (typeof look === 'string') return false
    const tickMs = look.ctimeMs % 1000 === 0 ? COARSE_TICK_MS : TICK_MS
    return Math.max(look.mtimeMs, look.ctimeMs) > this.startMs - tickMs
  }

  /** Whether so much is known of the file already that `hasChanged` would notice a change from now on. */
  hasSeen(path: string): boolean {
    return this.#digests.has(path) || (this.#looks.has(path) && !this.isYoung(path))
  }

  /** Whether the file is no longer what was seen here. */
  hasChanged(path: string): boolean {
    const now = new Files(this.#fs, this.#root)
    const [before, after] = [this.#look(path), now.#look(path)]
    if (!isSameLook(before, after)) return true
    return this.isYoung(path) && this.digestOf(path) !== now.digestOf(path)
  }

  #look(path: string): Look {
    const known = this.#looks.get(path)
    if (known !== undefined) return known
    const look = lookAt(this.#fs, this.#root.absolute(path))
    this.#looks.set(path, look)
    return look
  }

  #read(path: string, look: fs.Stats): string | undefined {
    const absolute = this.#root.absolute(path)
    try {
      if (look.isDirectory()) return digestOfNames(this.#fs.readdirSync(absolute))
      return look.size > PIECE_BYTES
        ? digestOfPieces(pieces(this.#fs, absolute))
        : digestOfFile(path, this.#fs.readFileSync(absolute))
    } catch {
      return undefined
    }
  }
}

export function lookAt(files: FileReads, absolute: string): Look {
  try {
    const stats = files.statSync(absolute, { throwIfNoEntry: false })
    if (stats === undefined) return 'missing'
    // Anything else, such as a pipe, has no content to compare, and reading it might never end.
    return stats.isFile() || stats.isDirectory() ? stats : 'unreadable'
  } catch (error) {
    // A path through a file, where a folder was: as missing as anything.
    return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOTDIR'
      ? 'missing'
      : 'unreadable'
  }
}

/** The stamp of what was found; zeros for what has none. */
export function stampOf(look: Look | undefined): Stamp {
  return typeof look === 'object' ? [look.size, look.mtimeMs, look.ctimeMs, look.ino] : NO_STAMP
}

/** Whether two looks found the same file in the same state, or both the same lack of one. */
export function isSameLook(before: Look, after: Look): boolean {
  if (typeof before === 'string' || typeof after === 'string') return before === after
  return isSameStamp(stampOf(before), stampOf(after))
}

export function isSameStamp(one: Stamp, other: Stamp): boolean {
  return one.every((part, index) => part === other[index])
}

export function* pieces(files: FileReads, absolute: string): Generator<Uint8Array> {
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

/**
 * The files of one root during one run. Each file is examined once, and its content is read only if its stamp differs:
 * `stamp.ts`.
 */
import type * as fs from 'node:fs'
import { digestOfFile, digestOfNames, digestOfPieces } from './digest.ts'
import type { Root } from './root.ts'
import {
  fileNowMs,
  type FileReads,
  isSameLook,
  isSameStamp,
  isYoungAt,
  type Look,
  lookAt,
  NO_STAMP,
  type Stamp,
  stampOf,
} from './stamp.ts'

/** Larger files are hashed in pieces of this many bytes. */
export const PIECE_BYTES: number = 4 * 1024 * 1024

/** The digest of a missing file. */
const MISSING = 'missing'

/** A file as recorded. Records of earlier versions have no inode, so the content decides once. */
export type RecordedFile = readonly [path: string, digest: string, ...stamp: Stamp]

/** The files of one root as they are during one run. */
export class Files {
  /** When the run began, on the clock of the file system. */
  readonly startMs: number = fileNowMs()
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
    return isYoungAt(this.#look(path), this.startMs)
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

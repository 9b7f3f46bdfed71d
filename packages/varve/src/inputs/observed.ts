/**
 * An input on disk, as it was at one moment. A content is only looked at, and digested when its digest is asked for: it is what was there
 * at that moment if size, times and inode are the same then.
 */
import { type Disk, digestOrOther, type Found, hasStamp, type ReadKind } from './input.ts'
import {
  fileNowMs,
  isSameLook,
  isSameStamp,
  isYoungAt,
  type Look,
  lookAt,
  NO_STAMP,
  type Stamp,
  stampOf,
} from './stamp.ts'

/** A read that was noted, of whichever copy of Varve. */
export interface Noted {
  readonly kind: ReadKind
  readonly path: string
  isCurrent(disk: Disk): boolean
  /** Whether this process has changed the path since. An older copy does not say. */
  readonly isFrozen?: boolean
  /** Whether the path is no longer what was read; `now`: what is there, if that is known. */
  hasChanged(disk: Disk, now?: Present): boolean
  freeze(disk: Disk): void
  seal(disk: Disk): Found | undefined
}

/** What is at a path now. */
export interface Present {
  readonly look: Look | undefined
  digest(disk: Disk): string
}

/** One input. */
export class Observed implements Noted, Present {
  readonly kind: ReadKind
  /** Absolute. */
  readonly path: string
  /** Undefined of a kind whose state times do not show. */
  readonly look: Look | undefined
  /** Whether a later change may leave its times as they are. */
  readonly isYoung: boolean
  /** Whether only a digest shows a change; if it was made at that moment, later looks need not be the same. */
  readonly #isExact: boolean
  #digest: string | undefined
  #isFrozen = false

  constructor(disk: Disk, kind: ReadKind, path: string) {
    this.kind = kind
    this.path = path
    this.look = hasStamp(kind) ? lookAt(disk.fs, path) : undefined
    this.isYoung = isYoungAt(this.look, fileNowMs())
    this.#isExact = this.look === undefined || this.isYoung || kind === 'list' || isFolder(this.look)
  }

  /** Looks so that each later change shows: what costs little, or is young, is digested at once. */
  static settled(disk: Disk, kind: ReadKind, path: string): Observed {
    const made = new Observed(disk, kind, path)
    if (made.#isExact) made.digest(disk)
    return made
  }

  get isFrozen(): boolean {
    return this.#isFrozen
  }

  /** Whether each later change shows. */
  get isSettled(): boolean {
    return !this.#isExact || this.#digest !== undefined
  }

  digest(disk: Disk): string {
    return (this.#digest ??= digestOrOther(disk, this.kind, this.path))
  }

  /** Whether another read would find the same. True if `seal` will notice a change. */
  isCurrent(disk: Disk): boolean {
    const isSealedLater = this.kind === 'package' || (this.look !== undefined && !this.#isFrozen)
    return isSealedLater || digestOrOther(disk, this.kind, this.path) === this.#digest
  }

  hasChanged(disk: Disk, now: Present = new Observed(disk, this.kind, this.path)): boolean {
    if (this.kind === 'package') return false
    const isSame = this.look !== undefined && now.look !== undefined && isSameLook(this.look, now.look)
    if (isSame && !this.isYoung) return false
    return this.#digest === undefined || now.digest(disk) !== this.#digest
  }

  /** How it compares with a stored state: the same, the same with another stamp, which can be stored, or another one. */
  compare(disk: Disk, digest: string, stamp: Stamp): 'same' | 'restamped' | 'changed' {
    if (this.look !== undefined && stamp[1] !== 0 && isSameStamp(stampOf(this.look), stamp)) return 'same'
    const found = this.seal(disk)
    if (found?.digest !== digest) return 'changed'
    return found.stamp[1] === 0 ? 'same' : 'restamped'
  }

  /** Call before this process changes the path, whose present content is what was read. */
  freeze(disk: Disk): void {
    if (this.#isFrozen) return
    this.#digest ??= this.seal(disk)?.digest
    this.#isFrozen = this.#digest !== undefined
  }

  /** What was there; undefined if the path changed since, so that it is unknown. */
  seal(disk: Disk): Found | undefined {
    const { kind, path } = this
    if (this.look === undefined || this.#isFrozen) return { kind, path, digest: this.digest(disk), stamp: NO_STAMP }
    const digest = this.#isExact || this.#digest === undefined ? digestOrOther(disk, kind, path) : this.#digest
    if (this.#digest !== undefined && digest !== this.#digest) return undefined
    const isSame = isSameLook(this.look, lookAt(disk.fs, path))
    if (!isSame && !this.#isExact) return undefined
    this.#digest = digest
    return { kind, path, digest, stamp: isSame && !this.isYoung ? stampOf(this.look) : NO_STAMP }
  }
}

/** Whether it is a folder. A read of its content fails, whatever is in it. */
export function isFolder(look: Look): boolean {
  return typeof look === 'object' && look.isDirectory()
}

/**
 * One read of a file or folder, as it was when it was made. What costs little is digested at once. A content is only looked
 * at, and digested when the set is sealed: it is what was read if size, times and inode are the same then.
 */
import { fileNowMs, isSameLook, isYoungAt, lookAt, type Look, NO_STAMP, stampOf } from '../inputs/stamp.ts'
import { type Disk, digestOrOther, type Found, hasStamp, hostDisk, type ReadKind } from '../inputs/input.ts'
import { type Noted, unrecordedNow } from './sink.ts'

/** One read. */
export class Observed implements Noted {
  readonly kind: ReadKind
  /** Absolute. */
  readonly path: string
  readonly #look: Look | undefined
  readonly #isYoung: boolean
  /** The digest was made when the read was, so later looks need not be the same. */
  readonly #isExact: boolean
  #digest: string | undefined
  #isFrozen = false

  constructor(disk: Disk, kind: ReadKind, path: string) {
    this.kind = kind
    this.path = path
    this.#look = hasStamp(kind) ? lookAt(disk.fs, path) : undefined
    this.#isYoung = isYoungAt(this.#look, fileNowMs())
    this.#isExact = this.#look === undefined || this.#isYoung || kind === 'list' || isFolder(this.#look)
    if (this.#isExact) this.#digest = digestOrOther(disk, kind, path)
  }

  /** Whether another read would find the same. True if `seal` will notice a change. */
  isCurrent(disk: Disk): boolean {
    const isSealedLater = this.kind === 'package' || (this.#look !== undefined && !this.#isFrozen)
    return isSealedLater || digestOrOther(disk, this.kind, this.path) === this.#digest
  }

  hasChanged(disk: Disk): boolean {
    if (this.kind === 'package') return false
    if (!this.#isYoung && this.#look !== undefined && isSameLook(this.#look, lookAt(disk.fs, this.path))) return false
    return this.#digest === undefined || digestOrOther(disk, this.kind, this.path) !== this.#digest
  }

  /** Call before this process changes the path, whose present content is what was read. */
  freeze(disk: Disk): void {
    if (this.#isFrozen) return
    this.#digest ??= this.seal(disk)?.digest
    this.#isFrozen = this.#digest !== undefined
  }

  /** What the read found; undefined if the path changed since, so that the result is unknown. */
  seal(disk: Disk): Found | undefined {
    const { kind, path } = this
    if (this.#look === undefined || this.#isFrozen) return { kind, path, digest: this.#digest ?? '', stamp: NO_STAMP }
    const digest = this.#isExact || this.#digest === undefined ? digestOrOther(disk, kind, path) : this.#digest
    if (this.#digest !== undefined && digest !== this.#digest) return undefined
    const isSame = isSameLook(this.#look, lookAt(disk.fs, path))
    if (!isSame && !this.#isExact) return undefined
    this.#digest = digest
    return { kind, path, digest, stamp: isSame && !this.#isYoung ? stampOf(this.#look) : NO_STAMP }
  }
}

/** Looks at a file. The returned function reports whether the file still has the content that it had at the first look. */
export function observe(path: string): () => boolean {
  const disk = hostDisk()
  if (disk === undefined) return () => false
  const read = unrecordedNow(() => new Observed(disk, 'content', path))
  return () => unrecordedNow(() => read.seal(disk)) !== undefined
}

/**
 * Freezes what was read of a path that is about to be written, of the folders that it is in, and of everything below it, which may be
 * removed with it. Returns the keys of those reads.
 */
export function freezeAround(reads: ReadonlyMap<string, Noted>, disk: Disk, path: string): string[] {
  const { dirname, sep } = disk.paths
  const keys = [`content ${path}`, `module ${path}`, `list ${path}`, `list ${dirname(path)}`, `tree ${path}`]
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) keys.push(`tree ${dirname(folder)}`)
  if (isFolder(lookAt(disk.fs, path)))
    for (const [key, read] of reads) if (read.path.startsWith(`${path}${sep}`)) keys.push(key)
  for (const key of keys) reads.get(key)?.freeze(disk)
  return keys
}

/** Whether it is a folder. A read of its content fails, whatever is in it. */
function isFolder(look: Look): boolean {
  return typeof look === 'object' && look.isDirectory()
}

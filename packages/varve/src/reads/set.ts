/**
 * A set of reads as it is stored: JSON, in the namespace `reads:<name>` of a cache, twice removed from the results.
 *
 *   generation <id>   the digest of a set               what one process had read when it committed
 *   set <digest>      [['content', '.browserslistrc', 'b9Tw..', 120, 1795257074727.025, 1795257074727.025, 91],
 *                                                       kind, path relative to the root, digest, bytes, mtime, ctime, inode;
 *                                                       zeros: only the digest counts
 *                      ['env', 'BROWSERSLIST', 'undefined', 0, 0, 0, 0],
 *                      ['names', 'DEBUG_', 'd5aX..', 0, 0, 0, 0],   the names of all variables that count and begin so
 *                      ['replaced list', 'dist', 'missing', 0, 0, 0, 0]]
 *                                                       the program read it while it started, and it changed since: compared
 *                                                       with what the program has read this time
 *
 * A read is the same if it finds what it found, and if the program, should it have read the same while it started, found that, too:
 * the path may have changed since then. With a `replaced` read beside it, that one is compared with the start.
 *
 * Many generations share a set. Its digest leaves out the stamps, so that it can be healed in place.
 */
import { digestOfNames, digestOfText, digestOfVariable } from '../inputs/digest.ts'
import { NO_STAMP, type Stamp } from '../inputs/files.ts'
import type { Root } from '../inputs/root.ts'
import { countedVariables } from './counted.ts'
import {
  type Disk,
  type Found,
  isOfFolder,
  type ReadKind,
  readKindOf,
  type Sealed,
  STORED_KINDS,
  type StoredKind,
} from './kinds.ts'
import { compareNow, digestOrOther, stampNow } from './observed.ts'
import { type Sink, startUpDigest } from './sink.ts'

/** One read as it is stored. */
export type StoredRead = readonly [kind: StoredKind | 'env' | 'names', name: string, digest: string, ...stamp: Stamp]

/** A read that no longer finds what it found. */
export interface ChangedRead {
  readonly kind: 'file' | 'list' | 'env'
  /** Path relative to the root, or name of the variable; '*' after the beginning of the names of all variables. */
  readonly name: string
  readonly before: string
  readonly after: string
}

const KINDS: ReadonlySet<unknown> = new Set([...STORED_KINDS, 'env', 'names'])

/** The stored form of a read of the disk. A link is stored as its target, relative to the root. */
export function storedRead({ kind, path, digest, stamp, isReplaced }: Sealed, root: Root): StoredRead {
  const found = kind === 'link' && digest !== 'missing' ? root.relative(digest) : digest
  return [isReplaced ? `replaced ${kind}` : kind, root.relative(path), found, ...stamp]
}

/** The stored form of a variable as it is now. */
export function storedVariable(name: string): StoredRead {
  return ['env', name, digestOfVariable(name), ...NO_STAMP]
}

/** The stored form of the names of all variables that begin with a prefix. */
export function storedNames(prefix: string): StoredRead {
  return ['names', prefix, digestOfNames(countedVariables(prefix)), ...NO_STAMP]
}

/** The digest of a set, without stamps, and the set in the order that it is stored in. */
export function sealSet(reads: readonly StoredRead[]): {
  readonly digest: string
  readonly set: readonly StoredRead[]
} {
  const set = reads.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1))
  return { digest: digestOfText(JSON.stringify(set.map(([kind, name, digest]) => [kind, name, digest]))), set }
}

/** Compares reads with the present, each at most once. */
export class Comparison {
  readonly #disk: Disk
  readonly #root: Root
  readonly #found: Map<string, 'same' | 'moved' | 'changed'> = new Map()
  readonly #started: Map<string, string | undefined> = new Map()

  constructor(disk: Disk, root: Root) {
    this.#disk = disk
    this.#root = root
  }

  /** How a set stands; stops at the first read that changed. */
  compare(set: readonly StoredRead[]): 'same' | 'moved' | 'changed' {
    let all: 'same' | 'moved' = 'same'
    for (const read of set) {
      const found = this.#compareOne(read)
      if (found === 'changed' || this.#startedWith(read, set) !== undefined) return 'changed'
      if (found === 'moved') all = 'moved'
    }
    return all
  }

  /** Everything of a set that changed. */
  changes(set: readonly StoredRead[]): ChangedRead[] {
    return set.flatMap((read) => {
      const after = this.#compareOne(read) === 'changed' ? this.#now(read) : this.#startedWith(read, set)
      return after === undefined ? [] : [this.#change(read, after)]
    })
  }

  /** The set with the stamps of now. */
  healed(set: readonly StoredRead[]): readonly StoredRead[] {
    return set.map((read): StoredRead => {
      const [kind, name, digest] = read
      return this.#found.get(keyOf(read)) === 'moved' && isOfDisk(kind)
        ? [kind, name, digest, ...stampNow(this.#disk, this.#sealed(kind, read))]
        : read
    })
  }

  #compareOne(read: StoredRead): 'same' | 'moved' | 'changed' {
    const key = keyOf(read)
    const known = this.#found.get(key)
    if (known !== undefined) return known
    const [kind, , digest] = read
    const hasStamp = isOfDisk(kind) && kind !== 'link'
    const found = hasStamp
      ? compareNow(this.#disk, this.#sealed(kind, read))
      : this.#now(read) === digest
        ? 'same'
        : 'changed'
    this.#found.set(key, found)
    return found
  }

  /** What the program read of a path while it started, if that is neither what was read then nor what the set has for it besides. */
  #startedWith(read: StoredRead, set: readonly StoredRead[]): string | undefined {
    const [kind, name, digest] = read
    if (!isOfDisk(kind)) return undefined
    const started = this.#startUp(kind, name)
    const isApart = (): boolean => set.some(([other, path]) => other === `replaced ${kind}` && path === name)
    return started === undefined || started === digest || isApart() ? undefined : started
  }

  #change([kind, name, before]: StoredRead, after: string): ChangedRead {
    const change = { before, after }
    if (kind === 'env' || kind === 'names') return { kind: 'env', name: kind === 'env' ? name : `${name}*`, ...change }
    return { kind: isOfFolder(readKindOf(kind)) ? 'list' : 'file', name: name === '' ? '.' : name, ...change }
  }

  #now([kind, name]: StoredRead): string {
    if (kind === 'env') return digestOfVariable(name)
    if (kind === 'names') return digestOfNames(countedVariables(name))
    const read = readKindOf(kind)
    const started = isOfDisk(kind) ? undefined : this.#startUp(read, name)
    return started ?? this.#stored(read, digestOrOther(this.#disk, read, this.#root.absolute(name)))
  }

  /** The digest of what the program read while it started, if the path has changed since. */
  #startUp(kind: ReadKind, name: string): string | undefined {
    const key = `${kind} ${name}`
    if (!this.#started.has(key)) this.#started.set(key, startUpDigest(kind, this.#root.absolute(name)))
    const digest = this.#started.get(key)
    return digest === undefined ? undefined : this.#stored(kind, digest)
  }

  /** A link is stored as its target, relative to the root. */
  #stored(kind: ReadKind, digest: string): string {
    return kind === 'link' && digest !== 'missing' ? this.#root.relative(digest) : digest
  }

  #sealed(kind: ReadKind, [, name, digest, ...stamp]: StoredRead): Found {
    return { kind, path: this.#root.absolute(name), digest, stamp }
  }
}

/** Reports every read of a set to a sink. */
export function forwardReads(set: readonly StoredRead[], root: Root, sink: Sink): void {
  for (const [kind, name] of set) {
    if (kind === 'env') sink.variable(name, false)
    else if (kind === 'names') sink.variables(name)
    else sink.read(readKindOf(kind), root.absolute(name))
  }
}

/** The names in a set of files and of variables, as `why` names them. */
export function namesOf(set: readonly StoredRead[]): {
  readonly files: readonly string[]
  readonly variables: readonly string[]
} {
  const [variables, files] = [set.filter(isOfVariables), set.filter((read) => !isOfVariables(read))]
  return {
    files: files.map(([, name]) => name),
    variables: variables.map(([kind, name]) => (kind === 'names' ? `${name}*` : name)),
  }
}

/** A set as read from a cache; undefined if it is none. */
export function readSet(value: unknown): readonly StoredRead[] | undefined {
  return Array.isArray(value) && value.every(isStoredRead) ? value : undefined
}

function isStoredRead(value: unknown): value is StoredRead {
  if (!Array.isArray(value) || value.length !== 7) return false
  const [kind, name, digest, ...stamp]: unknown[] = value
  return (
    KINDS.has(kind) &&
    typeof name === 'string' &&
    !name.includes('\0') &&
    typeof digest === 'string' &&
    stamp.every(Number.isFinite)
  )
}

function isOfVariables([kind]: StoredRead): boolean {
  return kind === 'env' || kind === 'names'
}

function isOfDisk(kind: StoredRead[0]): kind is ReadKind {
  return kind !== 'env' && kind !== 'names' && !kind.startsWith('replaced ')
}

function orderOf([kind, name]: StoredRead): string {
  return `${name}\0${kind}`
}

function keyOf([kind, name, digest]: StoredRead): string {
  return `${kind}\0${name}\0${digest}`
}

/**
 * A set of reads as it is stored: JSON, in the namespace `reads:<name>` of a cache, twice removed from the results.
 *
 *   generation <id>   the digest of a set               what one process had read when it committed
 *   set <digest>      [['content', '.browserslistrc', 'b9Tw..', 120, 1795257074727.025, 1795257074727.025, 91],
 *                                                       kind, path relative to the root, digest, bytes, mtime, ctime, inode;
 *                                                       zeros: only the digest counts
 *                      ['env', 'BROWSERSLIST', 'undefined', 0, 0, 0, 0],
 *                      ['names', 'DEBUG_', 'd5aX..', 0, 0, 0, 0]]   the names of all variables that count and begin so
 *
 * A read holds if its path still has the recorded digest, and did not change since the program read it while it started.
 *
 * Many generations share a set. Its digest leaves out the stamps, so that it can be healed in place.
 */
import { digestOfNames, digestOfText, digestOfVariable } from '../inputs/digest.ts'
import { NO_STAMP, type Stamp } from '../inputs/stamp.ts'
import type { Root } from '../inputs/root.ts'
import { countedVariables } from './counted.ts'
import { type Disk, type Found, isOfFolder, READ_KINDS, type ReadKind } from './kinds.ts'
import { compareNow, digestOrOther, stampNow } from './observed.ts'
import { ambientRead, type Sink } from './sink.ts'

/** One read as it is stored. */
export type StoredRead = readonly [kind: ReadKind | 'env' | 'names', name: string, digest: string, ...stamp: Stamp]

/** A read that no longer finds what it found. */
export interface ChangedRead {
  readonly kind: 'file' | 'list' | 'env'
  /** Path relative to the root, or name of the variable; '*' after the beginning of the names of all variables. */
  readonly name: string
  readonly before: string
  readonly after: string
}

const KINDS: ReadonlySet<unknown> = new Set([...READ_KINDS, 'env', 'names'])

/** The stored form of a read of the disk. A link is stored as its target, relative to the root. */
export function storedRead({ kind, path, digest, stamp }: Found, root: Root): StoredRead {
  const found = kind === 'link' && digest !== 'missing' ? root.relative(digest) : digest
  return [kind, root.relative(path), found, ...stamp]
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

  constructor(disk: Disk, root: Root) {
    this.#disk = disk
    this.#root = root
  }

  /** How a set stands; stops at the first read that changed. */
  compare(set: readonly StoredRead[]): 'same' | 'moved' | 'changed' {
    let all: 'same' | 'moved' = 'same'
    for (const read of set) {
      const found = this.#compareOne(read)
      if (found === 'changed') return 'changed'
      if (found === 'moved') all = 'moved'
    }
    return all
  }

  /** Everything of a set that changed. */
  changes(set: readonly StoredRead[]): ChangedRead[] {
    return set.flatMap((read) => (this.#compareOne(read) === 'changed' ? [this.#change(read, this.#now(read))] : []))
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
    const found = this.#lookAt(read)
    this.#found.set(key, found)
    return found
  }

  #lookAt(read: StoredRead): 'same' | 'moved' | 'changed' {
    const [kind, name, digest] = read
    if (isOfDisk(kind)) {
      if (ambientRead(kind, this.#root.absolute(name))?.hasChanged(this.#disk) === true) return 'changed'
      if (kind !== 'link') return compareNow(this.#disk, this.#sealed(kind, read))
    }
    return this.#now(read) === digest ? 'same' : 'changed'
  }

  #change([kind, name, before]: StoredRead, after: string): ChangedRead {
    const change = { before, after }
    if (kind === 'env' || kind === 'names') return { kind: 'env', name: kind === 'env' ? name : `${name}*`, ...change }
    return { kind: isOfFolder(kind) ? 'list' : 'file', name: name === '' ? '.' : name, ...change }
  }

  #now([kind, name]: StoredRead): string {
    if (kind === 'env') return digestOfVariable(name)
    if (kind === 'names') return digestOfNames(countedVariables(name))
    const digest = digestOrOther(this.#disk, kind, this.#root.absolute(name))
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
    else sink.read(kind, root.absolute(name))
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
  return kind !== 'env' && kind !== 'names'
}

function orderOf([kind, name]: StoredRead): string {
  return `${name}\0${kind}`
}

function keyOf([kind, name, digest]: StoredRead): string {
  return `${kind}\0${name}\0${digest}`
}

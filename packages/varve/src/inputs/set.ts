/**
 * A set of inputs as it is stored: JSON, in the namespace `reads:<name>` of a cache, two lookups away from the results: result, generation, set.
 *
 *   generation <id>   the digest of a set               what one process had read when it committed
 *   set <digest>      [['content', '.browserslistrc', 'b9Tw..', 120, 1795257074727.025, 1795257074727.025, 91],
 *                                                       kind, path relative to the root, digest, bytes, mtime, ctime, inode;
 *                                                       zeros: only the digest counts
 *                      ['env', 'BROWSERSLIST', 'undefined', 0, 0, 0, 0],
 *                      ['names', 'DEBUG_', 'd5aX..', 0, 0, 0, 0]]   the names of all variables that count and begin so
 *
 * An input holds if its digest is still the recorded one, and the process has nothing else of it in memory.
 *
 * Many generations share a set. Its digest leaves out the stamps, so that it can get newer stamps in place.
 */
import { digestOfNames, digestOfText, digestOfVariable } from './digest.ts'
import { VarveError } from '../errors.ts'
import { fileNowMs, NO_STAMP, type Stamp } from './stamp.ts'
import { Observed } from './observed.ts'
import type { Root } from './root.ts'
import { countedVariables } from './variables.ts'
import { type Disk, type Found, isOfFolder, READ_KINDS, type ReadKind } from './input.ts'

/** One input with the state that a result was made from. */
export type StoredInput = readonly [kind: ReadKind | 'env' | 'names', name: string, digest: string, ...stamp: Stamp]

const KINDS: ReadonlySet<unknown> = new Set([...READ_KINDS, 'env', 'names'])

/** The stored form of a read of the disk. A link is stored as its target, relative to the root. */
export function storedInput({ kind, path, digest, stamp }: Found, root: Root): StoredInput {
  const found = kind === 'link' && digest !== 'missing' ? root.relative(digest) : digest
  return [kind, root.relative(path), found, ...stamp]
}

/** The stored form of a variable as it is now. */
export function storedVariable(name: string): StoredInput {
  return ['env', name, digestOfVariable(name), ...NO_STAMP]
}

/** The stored form of the names of all variables that begin with a prefix. */
export function storedNames(prefix: string, names: readonly string[]): StoredInput {
  return ['names', prefix, digestOfNames(names), ...NO_STAMP]
}

/** The digest of a set, without stamps, and the set in the order that it is stored in. */
export function sealSet(reads: readonly StoredInput[]): {
  readonly digest: string
  readonly set: readonly StoredInput[]
} {
  const set = reads.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1))
  return { digest: digestOfText(JSON.stringify(set.map(([kind, name, digest]) => [kind, name, digest]))), set }
}

/** The names in a set of files and of variables, as `why` names them. */
export function namesOf(set: readonly StoredInput[]): {
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
export function readSet(value: unknown): readonly StoredInput[] | undefined {
  return Array.isArray(value) && value.every(isStoredInput) ? value : undefined
}

function isStoredInput(value: unknown): value is StoredInput {
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

function isOfVariables([kind]: StoredInput): boolean {
  return kind === 'env' || kind === 'names'
}

/** Whether an input is on disk. */
export function isOfDisk(kind: StoredInput[0]): kind is ReadKind {
  return kind !== 'env' && kind !== 'names'
}

function orderOf([kind, name]: StoredInput): string {
  return `${name}\0${kind}`
}

/** Whether the process has another state of this input in memory than `now`, the one on disk. */
export type IsOutdated = (kind: ReadKind, path: string, now: Observed) => boolean

/** An input that is no longer what it was. */
export interface ChangedInput {
  readonly kind: 'file' | 'list' | 'env'
  /** Path relative to the root, or name of the variable; '*' after the beginning of the names of all variables. */
  readonly name: string
  readonly before: string
  readonly after: string
}

/** How an input, or a set of them, compares with the present: the same, the same with newer stamps, which can be stored, or not. */
export type Match = 'same' | 'restamped' | 'changed'

/**
 * Inputs as they are at one moment, each looked at once. Stamps are compared first, so a file with an equal stamp is not read; if only its
 * stamp differs, its content decides.
 */
export class Comparison {
  /** When it began, on the clock of the file system. */
  readonly startMs: number = fileNowMs()
  readonly #disk: Disk | undefined
  readonly #root: Root
  readonly #isOutdated: IsOutdated
  readonly #observed: Map<string, Observed> = new Map()
  readonly #digests: Map<string, string> = new Map()

  /** Without a disk, as in browsers, it refuses files. */
  constructor(disk: Disk | undefined, root: Root, isOutdated: IsOutdated = () => false) {
    this.#disk = disk
    this.#root = root
    this.#isOutdated = isOutdated
  }

  get disk(): Disk {
    if (this.#disk !== undefined) return this.#disk
    const message = 'files of tasks need node:fs and node:path, which this host does not have; use inputs instead'
    throw new VarveError('ENGINE_UNAVAILABLE', message)
  }

  /** How a set stands; stops at the first input that changed. */
  compare(set: readonly StoredInput[]): Match {
    let all: Match = 'same'
    for (const input of set) {
      const found = this.compareOne(input)
      if (found === 'changed') return 'changed'
      if (found === 'restamped') all = 'restamped'
    }
    return all
  }

  compareOne([kind, name, digest, ...stamp]: StoredInput): Match {
    if (!isOfDisk(kind)) return this.now(kind, name) === digest ? 'same' : 'changed'
    const now = this.observe(kind, name)
    if (this.#isOutdated(kind, now.path, now)) return 'changed'
    if (kind !== 'link') return now.compare(this.disk, digest, stamp)
    return this.now(kind, name) === digest ? 'same' : 'changed'
  }

  /** Everything of a set that changed. */
  changes(set: readonly StoredInput[]): ChangedInput[] {
    return set.flatMap((input): ChangedInput[] => {
      const [kind, name, before] = input
      if (this.compareOne(input) !== 'changed') return []
      const change = { before, after: this.now(kind, name) }
      if (!isOfDisk(kind)) return [{ kind: 'env', name: kind === 'env' ? name : `${name}*`, ...change }]
      return [{ kind: isOfFolder(kind) ? 'list' : 'file', name: name === '' ? '.' : name, ...change }]
    })
  }

  /** The set with the stamps of now. */
  restamped(set: readonly StoredInput[]): readonly StoredInput[] {
    return set.map((input): StoredInput => {
      const [kind, name, digest] = input
      if (!isOfDisk(kind) || this.compareOne(input) !== 'restamped') return input
      return [kind, name, digest, ...(this.observe(kind, name).seal(this.disk)?.stamp ?? NO_STAMP)]
    })
  }

  /** The digest of an input. */
  now(kind: StoredInput[0], name: string): string {
    const key = `${kind} ${name}`
    const digest = this.#digests.get(key) ?? this.#digestOf(kind, name)
    this.#digests.set(key, digest)
    return digest
  }

  /** What is at a path; looked at when it is asked for first. */
  observe(kind: ReadKind, name: string): Observed {
    const key = `${kind} ${name}`
    const made = this.#observed.get(key) ?? new Observed(this.disk, kind, this.#root.absolute(name))
    this.#observed.set(key, made)
    return made
  }

  /** Whether a path was looked at, so that each later change shows. */
  hasSettled(kind: ReadKind, name: string): boolean {
    return this.#observed.get(`${kind} ${name}`)?.isSettled === true
  }

  #digestOf(kind: StoredInput[0], name: string): string {
    if (kind === 'env') return digestOfVariable(name)
    if (kind === 'names') return digestOfNames(countedVariables(name))
    const digest = this.observe(kind, name).digest(this.disk)
    return kind === 'link' && digest !== 'missing' ? this.#root.relative(digest) : digest
  }
}

/**
 * Checks sets of inputs against the present. Stamps are compared first, so a file with an equal stamp is not read; if only its stamp
 * differs, its content decides, and the set can be stored with newer stamps.
 */
import { digestOfNames, digestOfVariable } from './digest.ts'
import { type Disk, digestOrOther, type Found, hasStamp, isOfFolder, type ReadKind } from './input.ts'
import type { Root } from './root.ts'
import { isOfDisk, type StoredInput } from './set.ts'
import { fileNowMs, isSameStamp, isYoungAt, lookAt, NO_STAMP, type Stamp, stampOf } from './stamp.ts'
import { countedVariables } from './variables.ts'

/** Whether the process has another state of this input in memory than the one on disk, which is compared. */
export type IsOutdated = (kind: ReadKind, path: string) => boolean

/** An input that is no longer what it was. */
export interface ChangedInput {
  readonly kind: 'file' | 'list' | 'env'
  /** Path relative to the root, or name of the variable; '*' after the beginning of the names of all variables. */
  readonly name: string
  readonly before: string
  readonly after: string
}

/** Compares inputs with the present, each at most once. */
export class Comparison {
  readonly #disk: Disk
  readonly #root: Root
  readonly #isOutdated: IsOutdated
  readonly #found: Map<string, 'same' | 'restamped' | 'changed'> = new Map()

  constructor(disk: Disk, root: Root, isOutdated: IsOutdated) {
    this.#disk = disk
    this.#root = root
    this.#isOutdated = isOutdated
  }

  /** How a set stands; stops at the first read that changed. */
  compare(set: readonly StoredInput[]): 'same' | 'restamped' | 'changed' {
    let all: 'same' | 'restamped' = 'same'
    for (const read of set) {
      const found = this.#compareOne(read)
      if (found === 'changed') return 'changed'
      if (found === 'restamped') all = 'restamped'
    }
    return all
  }

  /** Everything of a set that changed. */
  changes(set: readonly StoredInput[]): ChangedInput[] {
    return set.flatMap((read) => (this.#compareOne(read) === 'changed' ? [this.#change(read, this.#now(read))] : []))
  }

  /** The set with the stamps of now. */
  restamped(set: readonly StoredInput[]): readonly StoredInput[] {
    return set.map((read): StoredInput => {
      const [kind, name, digest] = read
      return this.#found.get(keyOf(read)) === 'restamped' && isOfDisk(kind)
        ? [kind, name, digest, ...stampNow(this.#disk, this.#sealed(kind, read))]
        : read
    })
  }

  #compareOne(read: StoredInput): 'same' | 'restamped' | 'changed' {
    const key = keyOf(read)
    const known = this.#found.get(key)
    if (known !== undefined) return known
    const found = this.#lookAt(read)
    this.#found.set(key, found)
    return found
  }

  #lookAt(read: StoredInput): 'same' | 'restamped' | 'changed' {
    const [kind, name, digest] = read
    if (isOfDisk(kind)) {
      if (this.#isOutdated(kind, this.#root.absolute(name))) return 'changed'
      if (kind !== 'link') return compareNow(this.#disk, this.#sealed(kind, read))
    }
    return this.#now(read) === digest ? 'same' : 'changed'
  }

  #change([kind, name, before]: StoredInput, after: string): ChangedInput {
    const change = { before, after }
    if (kind === 'env' || kind === 'names') return { kind: 'env', name: kind === 'env' ? name : `${name}*`, ...change }
    return { kind: isOfFolder(kind) ? 'list' : 'file', name: name === '' ? '.' : name, ...change }
  }

  #now([kind, name]: StoredInput): string {
    if (kind === 'env') return digestOfVariable(name)
    if (kind === 'names') return digestOfNames(countedVariables(name))
    const digest = digestOrOther(this.#disk, kind, this.#root.absolute(name))
    return kind === 'link' && digest !== 'missing' ? this.#root.relative(digest) : digest
  }

  #sealed(kind: ReadKind, [, name, digest, ...stamp]: StoredInput): Found {
    return { kind, path: this.#root.absolute(name), digest, stamp }
  }
}

/** How an input compares with the present: not at all different, only in its stamp, or another content. */
function compareNow(disk: Disk, { kind, path, digest, stamp }: Found): 'same' | 'restamped' | 'changed' {
  if (!hasStamp(kind)) return digestOrOther(disk, kind, path) === digest ? 'same' : 'changed'
  const look = lookAt(disk.fs, path)
  if (stamp[1] !== 0 && isSameStamp(stampOf(look), stamp)) return 'same'
  if (digestOrOther(disk, kind, path) !== digest) return 'changed'
  return typeof look === 'object' && !isYoungAt(look, fileNowMs()) ? 'restamped' : 'same'
}

/** The stamp of what is there now; zeros for what has none, or is young. */
function stampNow(disk: Disk, { kind, path }: Found): Stamp {
  const look = hasStamp(kind) ? lookAt(disk.fs, path) : undefined
  return look === undefined || isYoungAt(look, fileNowMs()) ? NO_STAMP : stampOf(look)
}

function keyOf([kind, name, digest]: StoredInput): string {
  return `${kind}\0${name}\0${digest}`
}

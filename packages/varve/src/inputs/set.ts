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
 * An input holds if its digest is still the recorded one, and the process has nothing else of it in memory: `check.ts`.
 *
 * Many generations share a set. Its digest leaves out the stamps, so that it can get newer stamps in place.
 */
import { digestOfNames, digestOfText, digestOfVariable } from './digest.ts'
import { NO_STAMP, type Stamp } from './stamp.ts'
import type { Root } from './root.ts'
import { countedVariables } from './variables.ts'
import { type Found, READ_KINDS, type ReadKind } from './input.ts'

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
export function storedNames(prefix: string): StoredInput {
  return ['names', prefix, digestOfNames(countedVariables(prefix)), ...NO_STAMP]
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

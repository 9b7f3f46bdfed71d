/**
 * What is stored of an id: its variants, one per result kept, those used last first. JSON, in the namespace
 * `task:<name>`, with the id as key; the results are in `result:<name>`.
 *
 *   [{ inputs: ['config', 'j3Fz..', 'source', 's0aX..'],   names and digests in turn, sorted by name
 *      added:  [],                                          likewise, added by the work while it ran
 *      env:    ['NODE_ENV', 's7Qe..'],                      likewise, 'undefined' = not set
 *      files:  [['src/a.css', 'b9Tw..', 120, 1795257074727.025, 1795257074727.025, 91]],
 *                                                           path, digest or 'missing', bytes, mtime, ctime, inode; 0 = in doubt
 *      reads:  'Zk3f..',                                    generation of what else was read, if the task tracks that
 *      result: 'b5Kd..',                                    digest of its bytes, '' = undefined
 *      timeMs: 1795257075000,                               when the work was done
 *      workMs: 12.5,                                        what it cost; not in older records
 *      why:    '@babel/core 7.29.13 -> 7.30.0' }]           why it was done, at most 200 characters; not in older records
 *
 * Short inputs and variables stand in place of their digests, and the digest of a package's manifest has its version:
 * `inputs/digest.ts`.
 */
import { digestOf, digestOfBytes } from '../inputs/digest.ts'
import { isAmount } from '../history/tally.ts'
import type { Comparison, StoredInput } from '../inputs/set.ts'
import { NO_STAMP, type Stamp } from '../inputs/stamp.ts'
import type { Codec } from '../values/codec.ts'
import { VarveError, toVarveError } from '../errors.ts'
import type { Namespace } from '../session/namespace.ts'
import type { ReadScope } from '../reads/scope.ts'
import type { Session } from '../session/session.ts'

/** Names and digests in turn, sorted by name: a list that compares fast and is short as JSON. */
export type Digests = readonly string[]

/** The digests of named inputs. Throws INVALID_ARGUMENT for one that cannot be hashed. */
export function digestsOf(inputs: Readonly<Record<string, unknown>>): Digests {
  const digests: string[] = []
  for (const name of Object.keys(inputs).sort()) digests.push(name, digestOf(inputs[name], name))
  return digests
}

/** The digests of `inputs` and of the task's own, sorted by name. */
export function merged(inputs: Readonly<Record<string, unknown>>, shared: Digests): Digests {
  const own = digestsOf(inputs)
  if (shared.length === 0) return own
  const digests: string[] = []
  let next = 0
  for (let i = 0; i < own.length; i += 2) {
    const name = own[i] ?? ''
    while (next < shared.length && (shared[next] ?? '') < name) digests.push(shared[next++] ?? '', shared[next++] ?? '')
    if (shared[next] === name)
      throw new VarveError(
        'INVALID_ARGUMENT',
        `input '${name}' is an input of the whole task already; take another name`,
      )
    digests.push(name, own[i + 1] ?? '')
  }
  return digests.concat(shared.slice(next))
}

/** A map of names to digests as a list. */
export function sorted(digests: ReadonlyMap<string, string>): Digests {
  return [...digests].sort(([a], [b]) => (a < b ? -1 : 1)).flat()
}

/** The digest of that name, undefined if there is none. */
export function digestIn(digests: Digests, name: string): string | undefined {
  for (let i = 0; i < digests.length; i += 2) if (digests[i] === name) return digests[i + 1]
  return undefined
}

/** The names of a list. */
export function namesIn(digests: Digests): string[] {
  return digests.filter((_, index) => index % 2 === 0)
}

/** Whether two lists are the same. */
export function sameDigests(one: Digests, other: Digests): boolean {
  if (one.length !== other.length) return false
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false
  return true
}

/** Whether a value read from a cache is such a list. */
export function isDigests(value: unknown): value is Digests {
  return Array.isArray(value) && value.length % 2 === 0 && value.every((part) => typeof part === 'string')
}

/** Characters of `why`. */
const WHY_MAX = 200

/** `result` of a variant whose work returned undefined, which no codec holds. */
export const UNDEFINED_RESULT = ''

/** A file or directory as recorded. Records of earlier versions have no inode, so the content decides once. */
export type RecordedFile = readonly [path: string, digest: string, ...stamp: Stamp]

/** One result and all that it depends on. */
export interface Variant {
  readonly inputs: Digests
  readonly added: Digests
  readonly env: Digests
  readonly files: readonly RecordedFile[]
  /** Generation of the scope that the work read in; undefined if reads are not tracked. */
  readonly reads?: string | undefined
  readonly result: string
  readonly timeMs: number
  readonly workMs?: number | undefined
  readonly why?: string | undefined
}

/** Most variants that a task keeps of an id. */
export const VARIANTS_MAX = 100

/** The variants in a value; none if it is not a record, which is a miss. */
export function readVariants(record: unknown): readonly Variant[] {
  return Array.isArray(record) && record.length <= VARIANTS_MAX && record.every(isVariant) ? record : []
}

/** `variants` with `made` at this place, instead of one about the same state of the world; at most `count` of them. */
export function withVariant(
  variants: readonly Variant[],
  made: Variant,
  place: number,
  count: number,
): readonly Variant[] {
  return variants
    .filter((variant) => variant.reads !== made.reads || !dependsOnSame(variant, made))
    .toSpliced(place, 0, made)
    .slice(0, count)
}

/** A recorded file as an input: that of a directory is the list of names in it, which the digest shows. */
export function inputOf(file: RecordedFile): StoredInput {
  return [file[1].startsWith('d') ? 'list' : 'content', ...file]
}

/** The variables and files that a variant depends on. */
export function inputsOf({ env, files }: Pick<Variant, 'env' | 'files'>): readonly StoredInput[] {
  const variables = namesIn(env).map((name): StoredInput => ['env', name, digestIn(env, name) ?? '', ...NO_STAMP])
  return [...variables, ...files.map(inputOf)]
}

/** What the work of a variant cost in milliseconds; 0 if the record does not have it. */
export function costOf({ workMs }: Pick<Variant, 'workMs'>): number {
  return isAmount(workMs) ? workMs : 0
}

/** When the newest variant of a record was made, and what that cost. */
export interface Newest {
  readonly timeMs: number
  readonly workMs: number
}

/** The two fields in JSON, where one follows the other. A quote inside a text has a backslash before it, so no text matches. */
const MADE = /"timeMs":([\d.]+)(?:,"workMs":([\d.e+-]+))?/y

/** The newest variant in the JSON of a record, found in less than half of the time that parsing takes. Undefined if there is none. */
export function newestIn(record: string): Newest | undefined {
  let newest: Newest | undefined
  for (let at = record.indexOf('"timeMs":'); at >= 0; at = record.indexOf('"timeMs":', at + 1)) {
    MADE.lastIndex = at
    const [, time, work = 0] = MADE.exec(record) ?? [undefined, 0]
    const made = { timeMs: Number(time), workMs: costOf({ workMs: Number(work) }) }
    if (newest === undefined || made.timeMs > newest.timeMs) newest = made
  }
  return newest
}

/** The beginning of a text, of at most WHY_MAX characters. */
export function shortWords(text: string): string {
  return text.length <= WHY_MAX ? text : `${text.slice(0, WHY_MAX - 3).replace(/[\uD800-\uDBFF]$/, '')}...`
}

/** Why the work of a variant was done; undefined if the record does not have it. */
export function reasonIn({ why }: Variant): string | undefined {
  return typeof why === 'string' && why !== '' ? shortWords(why) : undefined
}

/** The key of a variant's result: no two ids share one, so that a result can go with the last variant that needs it. */
export function resultKey(key: string, result: string): string {
  return `${key}\0${result}`
}

/** Whether both are about the same state of the world, besides what else was read; the stamps of files are no part of it. */
export function dependsOnSame(one: Omit<Variant, 'result'>, other: Omit<Variant, 'result'>): boolean {
  if (one.files.length !== other.files.length) return false
  const isSameFile = ([path, digest]: RecordedFile, index: number): boolean =>
    other.files[index]?.[0] === path && other.files[index]?.[1] === digest
  return (
    (['inputs', 'added', 'env'] as const).every((name) => sameDigests(one[name], other[name])) &&
    one.files.every(isSameFile)
  )
}

function isVariant(value: unknown): value is Variant {
  if (typeof value !== 'object' || value === null) return false
  const { inputs, added, env, files, reads, result, timeMs } = value as Partial<Record<keyof Variant, unknown>>
  if (!isDigests(inputs) || !isDigests(added) || !isDigests(env) || !Number.isFinite(timeMs)) return false
  const isTracked = reads === undefined || typeof reads === 'string'
  return isTracked && Array.isArray(files) && files.every(isFile) && typeof result === 'string'
}

function isFile(value: unknown): value is RecordedFile {
  if (!Array.isArray(value)) return false
  const [path, digest, ...stamp]: unknown[] = value
  return typeof path === 'string' && typeof digest === 'string' && stamp.every((part) => typeof part === 'number')
}

/**
 * The stored variants of a task: records and results, in two namespaces. Damaged entries never fail a read, and a result
 * that cannot be stored never fails a build: it is a miss next time.
 */

/** What a shelf is made of. */
export interface ShelfParts<V> {
  /** Name of the task. */
  readonly task: string
  readonly session: Session
  readonly records: Namespace<unknown>
  readonly results: Namespace<V>
  readonly codec: Codec<V>
  /** Variants kept per id. */
  readonly variants: number
  readonly readOnly: boolean
  /** What the work of this task reads, if that is tracked. */
  readonly scope: ReadScope | undefined
}

/** The variants of one task. */
export class Shelf<V> {
  readonly #parts: ShelfParts<V>

  constructor(parts: ShelfParts<V>) {
    this.#parts = parts
  }

  get codec(): Codec<V> {
    return this.#parts.codec
  }

  /** Differs for results of another version or codec. */
  get version(): string {
    return this.#parts.results.fullVersion
  }

  /** The variants of an id, those used last first. */
  variants(key: string): readonly Variant[] {
    const record = this.#parts.records.get(key)
    return record === undefined ? [] : readVariants(record)
  }

  /** The variants of many ids, in their order. */
  variantsOfMany(keys: readonly string[]): readonly (readonly Variant[])[] {
    return this.#parts.records.getMany(keys).map((record) => (record === undefined ? [] : readVariants(record)))
  }

  /** A variant's result, undefined if it is lost. */
  result(key: string, { result }: Variant): { readonly value: V } | undefined {
    if (result === UNDEFINED_RESULT) return { value: undefined as V }
    const value = this.#parts.results.get(resultKey(key, result))
    return value === undefined ? undefined : { value }
  }

  /**
   * Puts a result with all its dependencies. False if it could not be stored. Throws INVALID_ARGUMENT for a result that its
   * codec refuses, because a hit would return another value.
   */
  put(key: string, made: Omit<Variant, 'result'>, value: V): boolean {
    return this.#write(() => {
      const result = this.#putResult(key, value)
      const before = this.variants(key) // read again: other runs of this id may have put theirs
      const after = withVariant(
        before.filter((variant) => !this.#isReplaced(variant, made)),
        { ...made, result },
        0,
        this.#parts.variants,
      )
      this.#parts.records.put(key, after)
      for (const variant of before) {
        const isKept = variant.result === UNDEFINED_RESULT || after.some((kept) => kept.result === variant.result)
        if (!isKept) this.#parts.results.delete(resultKey(key, variant.result))
      }
    })
  }

  /**
   * Call after each hit, with the index of the variant. Renews the stamps of files that only moved in time, and saves a
   * variant from going next: only one in the older half is taken to the front, so that a build which alternates between
   * two writes nothing.
   */
  used(key: string, variant: Variant, index: number, moved: Comparison | undefined): void {
    const isOld = index > 0 && index >= this.#parts.variants / 2
    if (moved === undefined && !isOld) return
    const renewed =
      moved === undefined
        ? variant
        : { ...variant, files: moved.restamped(variant.files.map(inputOf)).map(([, ...file]) => file) }
    const place = isOld ? 0 : index
    this.#write(() =>
      this.#parts.records.put(key, withVariant(this.variants(key), renewed, place, this.#parts.variants)),
    )
  }

  /** Of two that differ only in the generation of their reads, the older one stays if it may hold again: on another branch. */
  #isReplaced(variant: Variant, made: Omit<Variant, 'result'>): boolean {
    const { scope } = this.#parts
    if (scope === undefined || variant.reads === made.reads || !dependsOnSame(variant, made)) return false
    return variant.reads === undefined || scope.verdict(variant.reads) !== 'changed'
  }

  #putResult(key: string, value: V): string {
    if (value === undefined) return UNDEFINED_RESULT
    const { codec, results } = this.#parts
    const blobs = results.blobsIn(value)
    const encoded = codec.encode(value)
    const digest = digestOfBytes(encoded)
    results.putEncoded(resultKey(key, digest), encoded, blobs)
    return digest
  }

  #write(write: () => void): boolean {
    const { session, readOnly, task } = this.#parts
    if (readOnly) return false
    try {
      write()
      return true
    } catch (error) {
      const failure = toVarveError(error)
      const { code, message } = failure
      if (code === 'INVALID_ARGUMENT') throw failure
      // A cache that was closed while the work ran has no listener for warnings.
      const warning = new VarveError(code, `a result of task '${task}' is not stored: ${message}`, { cause: error })
      if (code !== 'CLOSED') session.warn(warning, `task ${task}`)
      return false
    }
  }
}

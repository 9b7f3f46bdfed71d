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
 * `inputs/literal.ts`.
 */

import { isAmount } from '../history/counts.ts'
import type { RecordedFile } from '../inputs/files.ts'
import { type Digests, isDigests, sameDigests } from './named.ts'

/** Characters of `why`. */
const WHY_MAX = 200

/** `result` of a variant whose work returned undefined, which no codec holds. */
export const UNDEFINED_RESULT = ''

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

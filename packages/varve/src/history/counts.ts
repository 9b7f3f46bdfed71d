/** What a build got from its cache and what it made, as counts. */
import { VarveError } from '../errors.ts'
import { checkOptions, describe, type Field, type Fields } from '../checks/validate.ts'

/** Counts for `cache.recordBuild`. */
export interface BuildCounts {
  /** Results that came from the cache. */
  readonly hits: number
  /** Results that the build made. */
  readonly misses: number
  /** Number of misses by reason; `TaskStats.reasons` has the words of tasks. */
  readonly reasons?: Readonly<Record<string, number>> | undefined
  /** Milliseconds that it took to make these hits when they were made. */
  readonly savedMs?: number | undefined
}

const AMOUNT: Field = { expected: 'a number from 0', accepts: isAmount }
const COUNT_FIELDS: Fields<BuildCounts> = {
  hits: AMOUNT,
  misses: AMOUNT,
  reasons: { expected: 'an object of numbers', accepts: isReasons },
  savedMs: AMOUNT,
}

/** Counts that grow. */
export class Counts {
  hits = 0
  misses = 0
  savedMs = 0
  readonly reasons: Map<string, number> = new Map()

  hit(savedMs: number): void {
    this.hits++
    this.savedMs += savedMs
  }

  missed(reason: string): void {
    this.misses++
    this.#add(reason, 1)
  }

  /** Adds the counts of a caller. Throws INVALID_OPTION. */
  add(counts: BuildCounts): void {
    checkOptions('recordBuild()', counts, COUNT_FIELDS)
    const { hits, misses, reasons = {}, savedMs = 0 } = counts
    if (!isAmount(hits) || !isAmount(misses)) {
      throw new VarveError(
        'INVALID_OPTION',
        `recordBuild() takes 'hits' and 'misses', not ${describe(hits)} and ${describe(misses)}`,
      )
    }
    this.hits += hits
    this.misses += misses
    this.savedMs += savedMs
    for (const [reason, count] of Object.entries(reasons)) this.#add(reason, count)
  }

  /** Number of results. */
  get count(): number {
    return this.hits + this.misses
  }

  get isEmpty(): boolean {
    return this.count === 0
  }

  #add(reason: string, count: number): void {
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + count)
  }
}

/** Whether a value can count or measure something. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isReasons(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every(isAmount)
}

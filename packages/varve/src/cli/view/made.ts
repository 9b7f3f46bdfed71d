/** The results of tasks that the last recorded build made, by reason: lists of bounded length. */
import type { MadeJson, MadeReasonJson, MadeResultJson } from '../../cli-json.ts'
import type { BuildRecord } from '../../history/record.ts'
import { type Difference, differencesBetween, sentenceOf } from '../../task/differences.ts'
import { costOf, type Newest, type Variant } from '../../task/record.ts'
import type { IdRecord } from '../open/tasks.ts'

const REASONS_MAX = 50
const RESULTS_MAX = 50
const DIFFERENCES_MAX = 10

/** Counts results by reason. All reasons beyond the limit count as one. */
export class Made {
  readonly #build: BuildRecord | undefined
  readonly #reasons: Map<string, { count: number; workMs: number; results: MadeResultJson[] }> = new Map()
  #count = 0

  constructor(build: BuildRecord | undefined) {
    this.#build = build
  }

  /** Whether the build made a result. */
  has({ timeMs }: Newest): boolean {
    return (
      this.#build !== undefined &&
      timeMs >= this.#build.startMs &&
      timeMs <= this.#build.startMs + this.#build.durationMs
    )
  }

  /** Counts the newest result of an id, which the build made. */
  add({ task, id, variants }: IdRecord): void {
    const newest = variants.reduce((one, other) => (other.timeMs > one.timeMs ? other : one))
    const { timeMs } = newest
    const differences = differencesOf(newest, variants)
    const reason = reasonOf(id, differences)
    const workMs = costOf(newest)
    const isListed = this.#reasons.has(reason) || this.#reasons.size < REASONS_MAX
    this.#count += 1
    this.#put(isListed ? reason : 'other reasons', {
      task,
      id,
      timeMs,
      workMs,
      differences: differences?.slice(0, DIFFERENCES_MAX) ?? [],
    })
  }

  toJson(): MadeJson {
    const reasons: MadeReasonJson[] = [...this.#reasons].map(([reason, { results, ...sums }]) => ({
      reason,
      ...sums,
      results: costliest(results),
    }))
    return { count: this.#count, reasons: reasons.sort((one, other) => other.count - one.count) }
  }

  #put(reason: string, result: MadeResultJson): void {
    const known = this.#reasons.get(reason) ?? { count: 0, workMs: 0, results: [] }
    known.count += 1
    known.workMs += result.workMs
    known.results.push(result)
    if (known.results.length > 2 * RESULTS_MAX) known.results = costliest(known.results)
    this.#reasons.set(reason, known)
  }
}

/** Why a result was made, so that results with one cause have the same words. */
function reasonOf(id: string, differences: readonly Difference[] | undefined): string {
  if (differences === undefined) return 'new'
  const [first] = differences
  if (first === undefined) return 'what its work read changed'
  return first.kind === 'file' && id.includes(first.name) ? 'its own file changed' : sentenceOf(first)
}

function costliest(results: readonly MadeResultJson[]): MadeResultJson[] {
  return results.toSorted((one, other) => other.workMs - one.workMs).slice(0, RESULTS_MAX)
}

/** What differs from the older result that is most like it; undefined if there is none. */
function differencesOf(newest: Variant, variants: readonly Variant[]): readonly Difference[] | undefined {
  const older = variants.filter((variant) => variant !== newest).map((variant) => differencesBetween(variant, newest))
  return older.sort((one, other) => one.length - other.length)[0]
}

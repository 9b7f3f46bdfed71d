/** Why a run would hit or miss: the nearest variant, and what differs from it. */
import { type Difference, differencesNow, READS_NOT_STORED, wordsOf } from './differences.ts'
import type { Asked } from './lookup.ts'
import type { Explain } from './options.ts'
import type { Present } from './present.ts'
import type { ReadScope } from '../reads/scope.ts'
import type { Variant } from './record.ts'

/** What `task.why` found. */
export interface WhyReport {
  readonly task: string
  /** The id, relative to the root. */
  readonly id: string
  /**
   * 'hit'; 'new': nothing is stored of this id by this version of the task; 'changed': see `differences`; 'lost': an
   * entry holds, its result is no longer there.
   */
  readonly outcome: 'hit' | 'new' | 'changed' | 'lost'
  /** Variants stored. */
  readonly variants: number
  /** What differs from the nearest variant, which is the one with the fewest differences. Empty unless 'changed'. */
  readonly differences: readonly Difference[]
  /** When the work of the nearest variant was done, milliseconds since 1970; undefined for 'new'. */
  readonly timeMs: number | undefined
}

/** A variant, and what differs from it. */
export interface Nearest {
  readonly variant: Variant
  readonly differences: readonly Difference[]
}

/** The variant with the fewest differences, among these the one used last; undefined if there are no variants. */
export function nearestOf(
  variants: readonly Variant[],
  asked: Asked,
  present: Present,
  scope?: ReadScope,
): Nearest | undefined {
  const all = variants.map((variant) => ({
    variant,
    differences: [...differencesNow(variant, asked, present), ...readDifferences(variant, scope)],
  }))
  return all.sort((a, b) => a.differences.length - b.differences.length)[0]
}

/** Why what the work read keeps a variant from being used. */
export function readDifferences({ reads }: Variant, scope: ReadScope | undefined): readonly Difference[] {
  if (scope === undefined) return []
  const verdict = reads === undefined ? 'unknown' : scope.verdict(reads)
  if (verdict === 'same') return []
  const changes = reads === undefined ? [] : scope.changes(reads)
  return changes.length > 0 ? changes : [READS_NOT_STORED]
}

/** Why a run missed, as a phrase with values where they are known. */
export function whyOf(nearest: Nearest | undefined, explain: Explain | undefined): string {
  if (nearest === undefined) return 'nothing was stored'
  return nearest.differences.length === 0 ? 'its result was gone' : wordsOf(nearest.differences, explain)
}

/** Why a run missed, in a word or two. */
export function reasonOf(nearest: Nearest | undefined): string {
  if (nearest === undefined) return 'new'
  const [first] = nearest.differences
  if (first === undefined) return 'result'
  // Files that a run declares differ from run to run; what a task reads is the same for all of them.
  const isDeclared = first.before === undefined || nearest.variant.files.some(([path]) => path === first.name)
  return first.kind === 'file' && isDeclared ? 'file' : `${first.kind} ${first.name}`
}

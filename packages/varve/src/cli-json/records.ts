/** Types of what `varve why` reports. */
import type { Difference } from '../task/why.ts'

/** The stored results of an id. */
export interface RecordJson {
  readonly task: string
  readonly id: string
  /** The newest result comes first. */
  readonly variants: readonly VariantJson[]
  /** How the two newest results differ; `before` is the older one. */
  readonly between: readonly Difference[]
}

export interface VariantJson {
  /** Time of the result, in milliseconds since 1970. */
  readonly timeMs: number
  /** Whether a run with the same inputs would hit: files and environment are unchanged, and the result is stored. */
  readonly holds: boolean
  /** Whether the result was evicted or is damaged. */
  readonly isLost: boolean
  /** Path of the layer that has the result; null if the cache itself has it, or it is lost. */
  readonly layer: string | null
  /** Why its work was done, with short values: `'NODE_ENV development -> production'`. Older records do not have it. */
  readonly why?: string
  readonly differences: readonly Difference[]
  /** Variables that are not set here, which the build may set itself. They are assumed to be as they were. */
  readonly assumed: readonly DependencyJson[]
  readonly inputs: readonly DependencyJson[]
  /** Environment variables. */
  readonly env: readonly DependencyJson[]
  readonly files: readonly DependencyJson[]
}

/** Something that a result depends on. `'missing'` and `'undefined'` are digests, too, and a short value is its own: `'="production"'`. */
export interface DependencyJson {
  readonly name: string
  readonly digest: string
}

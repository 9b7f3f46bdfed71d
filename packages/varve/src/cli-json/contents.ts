/** Types of what `varve view` finds out by reading the entries of a cache: sums and lists of bounded length. */
import type { Difference } from '../task/why.ts'

/** What the entries of a cache are about. */
export interface ContentsJson {
  /** The whole cache: parts by namespace or task, in these by package or directory, in these by module. */
  readonly tree: TreeJson
  readonly made: MadeJson
}

/** Entries with something in common. */
export interface TreeJson {
  /** Null for the parts that are too many to be listed. */
  readonly name: string | null
  /** The name as users know it, if that is another one. */
  readonly title?: string
  readonly entries: number
  /** Bytes of keys and values before compression. */
  readonly bytes: number
  /** Milliseconds that the newest results took when they were made: what a build saves if all of them are hits. */
  readonly workMs: number
  /** The largest parts come first. */
  readonly parts?: readonly TreeJson[]
}

/** The results of tasks that the last recorded build made. */
export interface MadeJson {
  readonly count: number
  /** The most frequent reasons come first. */
  readonly reasons: readonly MadeReasonJson[]
}

/** Results that were made for one reason. */
export interface MadeReasonJson {
  readonly reason: string
  readonly count: number
  readonly workMs: number
  /** The costliest results come first. */
  readonly results: readonly MadeResultJson[]
}

/** A result that was made because none was stored, or because something differs from the nearest older one. */
export interface MadeResultJson {
  readonly task: string
  readonly id: string
  /** The tool or plugin of the task and what the id is about, if it is a task of a plugin. */
  readonly tool?: string
  readonly path?: string
  /** In milliseconds since 1970. */
  readonly timeMs: number
  readonly workMs: number
  /** Some of the differences from the nearest older result. */
  readonly differences: readonly Difference[]
}

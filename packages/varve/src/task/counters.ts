/** Counts the outcomes of the runs of one task. */
import { Counts } from '../history/counts.ts'

/** Outcomes of the runs of one task object. */
export interface TaskStats {
  /** Runs whose result was in the cache. */
  readonly hits: number
  /** Runs that did the work. */
  readonly misses: number
  /** Runs that received the result of another run in flight. */
  readonly shared: number
  /** Hits with files that had new times and the same content; their entries were renewed. */
  readonly healed: number
  /** Misses whose result was not stored: a file changed meanwhile, `skipStore`, an error, a result that its codec refuses. */
  readonly notStored: number
  /**
   * Why runs missed: 'new' (nothing stored for that id), 'input <name>', 'env <name>', 'file' (one that the run declared),
   * 'file <path>', 'list <directory>' and 'env <name>' (read by the work), 'reads not stored', 'result' (the entry exists, its
   * result does not), with the number of each. A run with several differences counts for the first.
   */
  readonly reasons: Readonly<Record<string, number>>
  /**
   * Milliseconds that the results of the hits took when they were made. Time in which several works of a thread ran counts
   * for each in equal parts. The time of the lookups is not subtracted.
   */
  readonly savedMs: number
}

/** The counters of one task. */
export class Counters {
  shared = 0
  healed = 0
  notStored = 0
  readonly #own: Counts = new Counts()
  /** Those of all tasks of the cache. */
  readonly #all: Counts

  constructor(all: Counts) {
    this.#all = all
  }

  hit(savedMs: number): void {
    this.#own.hit(savedMs)
    this.#all.hit(savedMs)
  }

  missed(reason: string): void {
    this.#own.missed(reason)
    this.#all.missed(reason)
  }

  snapshot(): TaskStats {
    const { shared, healed, notStored } = this
    const { hits, misses, reasons, savedMs } = this.#own
    return { hits, misses, shared, healed, notStored, reasons: Object.fromEntries(reasons), savedMs }
  }
}

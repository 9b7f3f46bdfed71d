/** Counts the outcomes of the runs of one task. */

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
}

/** The counters of one task. */
export class Counters {
  hits = 0
  misses = 0
  shared = 0
  healed = 0
  notStored = 0
  readonly #reasons: Map<string, number> = new Map()

  missed(reason: string): void {
    this.misses++
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1)
  }

  snapshot(): TaskStats {
    const { hits, misses, shared, healed, notStored } = this
    return { hits, misses, shared, healed, notStored, reasons: Object.fromEntries(this.#reasons) }
  }
}

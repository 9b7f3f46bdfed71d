/** Counts what became of the runs of one task. */

/** What became of the runs of a task on this handle, since it was opened. */
export interface TaskStats {
  /** Runs whose result was in the cache. */
  readonly hits: number
  /** Runs that did the work. */
  readonly misses: number
  /** Runs that got the result of another run that was under way, on this thread or another. */
  readonly shared: number
  /** Hits whose files had moved in time only; their entries were renewed. */
  readonly healed: number
  /** Misses whose result was not stored: a file changed meanwhile, `skipStore`, an error, a result its codec cannot hold. */
  readonly notStored: number
  /**
   * Why runs missed: 'new' (nothing stored of that id), 'input <name>', 'env <name>', 'file' (one that the run declared),
   * 'file <path>', 'list <folder>' and 'env <name>' (what the work read), 'reads not stored', 'result' (the entry is there, its
   * result is not), and how many each. Of a run in which several things differ, the first.
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

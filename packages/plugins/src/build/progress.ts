/** Counts the modules of one build, of all plugins that share a cache: from the cache, or rebuilt by at least one of them. */
import type { BuildCounts } from 'varve'

/** The modules of one build. */
export class Progress {
  /** For each module the first reason of a miss; undefined if all its results came from the cache. */
  readonly #modules: Map<string, string | undefined> = new Map()
  #savedMs = 0

  /** Notes a result of a module. `reason` is that of a miss. */
  note(module: string, reason?: string): void {
    this.#modules.set(module, this.#modules.get(module) ?? reason)
  }

  /** Adds time that the results from the cache took when they were made. */
  saved(ms: number): void {
    this.#savedMs += ms
  }

  /** The counts since the last call of this method. */
  take(): BuildCounts {
    const reasons: Record<string, number> = {}
    let misses = 0
    for (const reason of this.#modules.values()) {
      if (reason === undefined) continue
      misses += 1
      reasons[reason] = (reasons[reason] ?? 0) + 1
    }
    const counts = { hits: this.#modules.size - misses, misses, reasons, savedMs: this.#savedMs }
    this.#modules.clear()
    this.#savedMs = 0
    return counts
  }
}

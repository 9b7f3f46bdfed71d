/** Counts the modules of one build, of all plugins that share a cache: from the cache, or rebuilt by at least one of them. */
import type { BuildCounts } from 'varve'

/** What the reasons of calls begin with that cannot be cached. */
export const NOT_STORED = 'not stored: '

/** The modules of one build. */
export class Progress {
  /** For each module the first reason of a miss; undefined if all its results came from the cache. */
  readonly #modules: Map<string, string | undefined> = new Map()
  /** Calls that were not cached, by reason. */
  readonly #uncached: Map<string, number> = new Map()
  #savedMs = 0

  /** Notes a result of a module. `reason` is that of a miss. */
  note(module: string, reason?: string): void {
    this.#modules.set(module, this.#modules.get(module) ?? reason)
  }

  /** Adds calls that were not cached, by reason. */
  uncached(reasons: Readonly<Record<string, number>>): void {
    for (const [reason, count] of Object.entries(reasons))
      this.#uncached.set(reason, (this.#uncached.get(reason) ?? 0) + count)
  }

  /** Adds time that the results from the cache took when they were made. */
  saved(ms: number): void {
    this.#savedMs += ms
  }

  /** The counts since the last call of this method. If no call was cached, they are those of the calls, with the reasons. */
  take(): BuildCounts {
    const reasons: Record<string, number> = {}
    let misses = 0
    const add = (reason: string, count: number): void => {
      misses += count
      reasons[reason] = (reasons[reason] ?? 0) + count
    }
    for (const reason of this.#modules.values()) if (reason !== undefined) add(reason, 1)
    const hits = this.#modules.size - misses
    if (this.#modules.size === 0) for (const [reason, count] of this.#uncached) add(`${NOT_STORED}${reason}`, count)
    const counts = { hits, misses, reasons, savedMs: this.#savedMs }
    this.#modules.clear()
    this.#uncached.clear()
    this.#savedMs = 0
    return counts
  }
}

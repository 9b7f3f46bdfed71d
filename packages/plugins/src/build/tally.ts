/** Counts the calls of one plugin, with the time that its hits have saved, and the modules of a build. */
import type { BuildCounts, Task } from 'varve'
import { isCpuTime } from 'varve/internal'
import type { CachedStats } from './options.ts'

/** The counts since the last build ended. */
export class Tally {
  #hits = 0
  /** What the hits cost themselves. */
  #answersMs = 0
  #misses = 0
  readonly #uncacheable: Map<string, number> = new Map()
  readonly #reasons: Map<string, number> = new Map()
  /** Time that the hits of each task have saved before this build. */
  readonly #tasks: Map<Task<Uint8Array>, number> = new Map()

  /** `answerMs`: what it cost to answer the call. */
  hit(answerMs: number): void {
    this.#hits += 1
    this.#answersMs += answerMs
  }

  missed(reason: string): void {
    this.#misses += 1
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1)
  }

  uncacheable(reason: string): void {
    this.#uncacheable.set(reason, (this.#uncacheable.get(reason) ?? 0) + 1)
  }

  /** Called with each task that the calls belong to. */
  noteTask(task: Task<Uint8Array>): void {
    if (!this.#tasks.has(task)) this.#tasks.set(task, task.stats().savedMs)
  }

  /** The counts since the last call of this method. */
  takeStats(): Omit<CachedStats, 'name' | 'reads'> {
    const uncacheable = Object.fromEntries(this.#uncacheable)
    const reasons = Object.fromEntries(this.#reasons)
    const stats = { hits: this.#hits, misses: this.#misses, uncacheable, reasons }
    this.#hits = this.#misses = 0
    this.#uncacheable.clear()
    this.#reasons.clear()
    return stats
  }

  /** The time that hits have saved since the last call of this method; CPU time without that of the hits themselves. */
  takeSavedMs(): number {
    let savedMs = isCpuTime() ? -this.#answersMs : 0
    this.#answersMs = 0
    for (const [task, before] of this.#tasks) {
      const now = task.stats().savedMs
      savedMs += now - before
      this.#tasks.set(task, now)
    }
    return Math.max(0, savedMs)
  }
}

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

/** Counts the calls of one plugin: the statistics of a build, and the time that its hits have saved. */
import type { Task } from 'varve'
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
    const [uncacheable, reasons] = [Object.fromEntries(this.#uncacheable), Object.fromEntries(this.#reasons)]
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

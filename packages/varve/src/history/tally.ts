/** Counts what an open cache does. The finest source counts: the tool, otherwise its tasks, otherwise lookups of namespaces. */
import { Counts } from './counts.ts'

/** The counts of one open cache. */
export class Tally {
  /** From `cache.recordBuild`. */
  readonly tool: Counts = new Counts()
  readonly tasks: Counts = new Counts()
  /** Lookups of namespaces, by their outcome. They are hot, so they only add. */
  found = 0
  missed = 0
  /** Bytes of the values that were read. */
  readBytes = 0

  /** The counts of this build. */
  get counts(): Counts {
    if (!this.tool.isEmpty) return this.tool
    if (!this.tasks.isEmpty) return this.tasks
    const lookups = new Counts()
    lookups.hits = this.found
    lookups.misses = this.missed
    if (this.missed > 0) lookups.reasons.set('new', this.missed)
    return lookups
  }
}

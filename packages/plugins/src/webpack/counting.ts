/** Gives the counts of a compiler's build to the cache before its first commit, so that a watching build that is killed has a record. */
import type { BuildCounts, Cache, CommitReport } from 'varve'

/** The counts of one compiler. */
export class Counting {
  /** Returns the counts of the first build, once it is over. */
  counts: () => BuildCounts | undefined = () => undefined
  #isDone = false

  commit(cache: Cache): Promise<CommitReport> {
    this.#add(cache)
    return cache.commit()
  }

  async close(cache: Cache): Promise<void> {
    this.#add(cache)
    this.#isDone = false
    await cache.close()
  }

  #add(cache: Cache): void {
    const counts = this.#isDone ? undefined : this.counts()
    if (counts !== undefined) cache.recordBuild(counts)
    this.#isDone ||= counts !== undefined
  }
}

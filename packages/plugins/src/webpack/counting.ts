/** Gives the counts of a compiler's build to the cache before its first commit, so that a watching build that is killed has a record. */
import type { BuildCounts, Cache, CommitReport, RemoteReport } from 'varve'

/** The counts of one compiler. */
export class Counting {
  /** Returns the counts of the first build, once it is over. */
  counts: () => BuildCounts | undefined = () => undefined
  #isDone = false
  #cache: Cache | undefined

  /** What has come from the remote of the cache up to now; undefined before the cache is open, and without a remote. */
  get remote(): RemoteReport | undefined {
    return this.#cache?.closed === false ? this.#cache.status().remote : undefined
  }

  /** Returns the call that commits a cache with its counts. */
  over(cache: Cache): () => Promise<CommitReport> {
    this.#cache = cache
    return () => {
      this.#add(cache)
      return cache.commit()
    }
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

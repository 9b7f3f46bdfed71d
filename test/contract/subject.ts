/** The engine under test, as the parts of the contract use it. */
import type { Cache, CacheOptions } from 'varve'

/** Caches of one engine. */
export interface Subject {
  /** A directory that no test has used. */
  newDir(): string
  /** Opens the cache in `dir` with the engine under test. */
  open(dir: string, options?: Partial<CacheOptions>): Promise<Cache>
}

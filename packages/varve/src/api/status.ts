/** What a cache reports about itself, and how it was opened. */
import type { Degraded } from '../health/place.ts'
import type { TrustDomain } from '../health/domain.ts'
import type { Durability } from '../options.ts'
import type { Attachment } from '../remote/attach.ts'
import type { RemoteReport } from '../remote/remote.ts'
import type { EngineName } from '../engine/engine.ts'
import type { EngineStatus, LayerReport } from '../reports.ts'

/** The state of a cache. */
export interface CacheStatus extends EngineStatus {
  /** `'none'`: this process can start no engine, see `degraded`. */
  readonly engine: EngineName
  /** Why Varve uses this engine, as a phrase. */
  readonly reason: string
  /** Absolute path of the cache directory. For a cache in memory, a path that does not exist. */
  readonly dir: string
  /**
   * `'untrusted'`: what the cache has, or reads from layers, may come from an untrusted scope of a remote. No trusted scope publishes it,
   * and unless it is read-only, it has the directory `.untrusted/<name>` beside that of trusted builds.
   */
  readonly domain: TrustDomain
  readonly durability: Durability
  /** What the next commit, or `close`, writes. A commit under way no longer counts. */
  readonly pending: {
    /** Number of calls of `put` and `delete`, several calls for one key included. */
    readonly entries: number
    /** Bytes that they take in a log: keys, values and a few bytes each. */
    readonly bytes: number
  }
  /**
   * What limits the cache, why, and how to fix it; undefined if nothing does. If the directory cannot be written from the
   * start, relaxed commits stay in memory (`CommitReport.inMemory`) and are written as soon as that is possible. A commit
   * that fails later rejects, and its entries stay buffered for the next one.
   */
  readonly degraded: Degraded | undefined
  /** What `openCache` got from the remote, and how much of it was used; undefined if the cache has none. */
  readonly remote: RemoteReport | undefined
}

/** What the remote has given up to now. */
export function remoteNow(remote: Attachment | undefined, layers: readonly LayerReport[]): RemoteReport | undefined {
  if (remote === undefined) return undefined
  const hits = layers.reduce((sum, { path, hits: ofLayer }) => sum + (remote.layers.includes(path) ? ofLayer : 0), 0)
  return { ...remote.report, hits }
}

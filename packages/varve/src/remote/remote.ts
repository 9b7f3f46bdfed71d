/** What a cache uses of a remote. This package has no network: `openRemote` of `@varve/remote` returns what the interface describes. */

import type { TrustDomain } from '../health/domain.ts'

/** A remote of caches, made by `openRemote` of `@varve/remote`. */
export interface CacheRemote {
  /** The store in messages, without credentials. */
  readonly label: string
  /** Absolute path of the directory for the layers that are fetched. */
  readonly dir: string
  /** Whether caches ignore it. */
  readonly isOff?: boolean
  /** Whether caches publish to it when they are closed. */
  readonly publishes: boolean
  /** `'untrusted'`: it reads a scope whose layers no trusted key has signed, so its caches have a directory of their own. */
  readonly domain: TrustDomain
  /**
   * Fetches what the cache `name` lacks, and resolves to its layers. It never rejects, and ends within its budget. `offline` opens no
   * connection and writes nothing.
   */
  attach(name: string, options: { readonly offline: boolean }): Promise<AttachedLayers>
  /** Removes layers, by their paths, in which a cache has found damage, so that the next `attach` fetches them again. It never rejects. */
  discard?(paths: readonly string[]): Promise<void>
  /** Publishes what a closed cache has and the remote lacks. Rejects with the reason if it cannot. */
  publish(cache: PublishedCache): Promise<unknown>
}

/** The layers of a cache. */
export interface AttachedLayers {
  /** Absolute paths, the newest first. */
  readonly paths: readonly string[]
  /** Bytes of the layers that this call has fetched. */
  readonly fetchedBytes: number
  /** Why these may not be the newest layers; the same object for each later call. */
  readonly problem: Error | undefined
  /** If the remote fetches in the background: resolves at the end, to the problem if it failed. It never rejects. */
  readonly later?: Promise<Error | undefined> | undefined
}

/** A closed cache. */
export interface PublishedCache {
  readonly name: string
  readonly dir: string
  readonly secret: Uint8Array | undefined
  readonly engine: 'native' | 'wasm'
  readonly shared: boolean
}

/** The remote of an open cache. */
export interface RemoteReport {
  /** Its store, without credentials; empty if it could not be opened. */
  readonly store: string
  /**
   * `'current'`: the cache is over the newest layers. `'offline'`: the remote was not asked (`VARVE_OFFLINE`, `readOnly`).
   * `'fetching'`: the newest layers are fetched in the background, for the next time (prefetch `'lazy'`). `'failed'`: `problem` has
   * the reason. Layers of an earlier state that are on this machine are used in all other cases.
   */
  readonly state: 'current' | 'offline' | 'fetching' | 'failed'
  readonly problem: string | null
  /** Number of its layers below the cache; `CacheStatus.layers` has each. */
  readonly layers: number
  /** Bytes of the layers that `openCache` has fetched. */
  readonly fetchedBytes: number
  /** Milliseconds that `openCache` has waited for it. */
  readonly waitMs: number
  /** Lookups that its layers have answered so far. */
  readonly hits: number
}

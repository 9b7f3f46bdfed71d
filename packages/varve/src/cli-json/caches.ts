/** Types of what `varve stats` and `remote` report of a cache. */

export interface CacheJson {
  readonly dir: string
  /** Names of tools in its history, the last one first. */
  readonly tools: readonly string[]
  /** Names of its namespaces. */
  readonly namespaces: readonly string[]
  readonly entries: number
  readonly bytes: number
  /** When a build last wrote to it or recorded what it read, in milliseconds since 1970; 0 if unknown. */
  readonly usedMs: number
  /** Why it could not be opened; its counts are 0. Null if it was. */
  readonly problem: string | null
}

/** A layer of a remote. */
export interface RemoteLayerJson {
  /** Name of the cache. */
  readonly cache: string
  readonly sha256: string
  /** Bytes of its files; `descriptionBytes` are those of the list of them. */
  readonly bytes: number
  readonly descriptionBytes: number
  /** Its first chunks, at most 8. */
  readonly first: readonly { readonly sha256: string; readonly bytes: number }[]
  readonly entries: number
  readonly deletes: number
  /** First 16 digits of the layers that were merged into it, the newest ones. */
  readonly merged?: readonly string[] | undefined
}

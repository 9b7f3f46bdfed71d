/** Statistics of the webpack plugin. */

/** Counts of all compilers since the plugin was constructed. */
export interface VarveWebpackStats {
  /** Lookups that this cache answered. */
  hits: number
  /** Lookups that this cache could not answer. */
  misses: number
  /** Entries written. */
  stored: number
  /** Identifiers of values that were not stored: webpack cannot serialise them, their etag cannot be computed, or they exceed 512 MiB. */
  skipped: string[]
  /** Bytes of values written, as webpack serialised them. */
  bytesWritten: number
  /**
   * What every entry depends on and has changed since an earlier build, so that webpack builds everything again: configs, loaders,
   * packages, and files, directories and environment variables that loaders or plugins read. Paths are relative to the compiler's
   * context. webpack stops at the first change that it finds, so the list may be incomplete.
   */
  changed: readonly string[]
}

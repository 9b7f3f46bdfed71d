/** Statistics of the webpack plugin. */

/** Counts of all compilers since the plugin was constructed. */
export interface VarveWebpackStats {
  /** Lookups that this cache answered. */
  hits: number
  /** Lookups that this cache could not answer. */
  misses: number
  /** Entries written. */
  stored: number
  /** Values that were not stored: webpack cannot serialise them, or they exceed 512 MiB. */
  skipped: number
  /** Bytes of values written, as webpack serialised them. */
  bytesWritten: number
  /**
   * Files, directories and environment variables that loaders or plugins read in an earlier build and that have changed since,
   * so that webpack builds everything again. Paths are relative to the compiler's context. Configs, loaders and packages,
   * which webpack tracks itself, are not listed.
   */
  changed: readonly string[]
}

/** What the plugin counts. */

/** Counts since the plugin was made, over all its compilers. */
export interface VarveWebpackStats {
  /** Lookups answered. */
  hits: number
  /** Lookups that this cache could not answer. */
  misses: number
  /** Entries written. */
  stored: number
  /** Values that webpack cannot serialise. */
  skipped: number
  /** Bytes of values written, as webpack serialised them. */
  bytesWritten: number
  /**
   * Files, relative to the compiler's context, folders and variables that loaders or plugins read in an earlier build and
   * that have changed since, so that everything is built again. Empty if nothing changed, and for what webpack follows by
   * itself: configs, loaders and packages.
   */
  changed: readonly string[]
}

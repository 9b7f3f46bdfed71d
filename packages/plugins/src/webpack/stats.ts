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
}

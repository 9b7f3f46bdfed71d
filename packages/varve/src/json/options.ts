/** Options of exports and imports as JSON. */
import type { WatchOptions } from '../options.ts'

/** Options of `cache.exportJson`. */
export interface ExportOptions extends WatchOptions {
  /**
   * `'json'`: one array, an entry on each line. `'ndjson'`: the same lines without the array around them.
   * @defaultValue `'json'`
   */
  readonly format?: 'json' | 'ndjson' | undefined
  /**
   * Exports only the entries of the namespace of this name.
   * @defaultValue all namespaces
   */
  readonly namespace?: string | undefined
  /**
   * Exports keys and the lengths of values without reading values. Such an export cannot be imported.
   * @defaultValue `false`
   */
  readonly keysOnly?: boolean | undefined
}

/** Options of `cache.importJson`. */
export interface ImportOptions extends WatchOptions {
  /**
   * Imports entries of a namespace that has another version in this cache. As with every commit of another version, this
   * removes the entries of that namespace. Without it such entries are refused.
   * @defaultValue `false`
   */
  readonly overwrite?: boolean | undefined
}

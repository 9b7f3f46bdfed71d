/**
 * How a package that writes caches describes them to `npx varve`, in the words of its users. `@varve/plugins` exports `describe` as
 * `@varve/plugins/describe`. Names and keys come from the cache, so they may be anything.
 */

/** Describes the namespaces of one cache that the package has written. Others are left out. */
export type DescribeCache = (namespaces: readonly string[]) => readonly Description[]

/** What namespaces of a cache are about. */
export interface Description {
  /** The tool with its configuration, or the plugin: 'webpack, production, web'. */
  readonly title: string
  readonly namespaces: readonly string[]
  /** Whether users need not know of them: notes that explain misses, and the like. */
  readonly isInternal?: boolean
  /** What an entry is about; undefined if users need not know of it. */
  subjectOf(namespace: string, key: string): Subject | undefined
  /**
   * The shares of all entries of the namespaces, for tools that store many results in one value. Their sums are those of the entries.
   * Without it, each entry is a part of its own.
   */
  parts?(read: CacheReader): Iterable<Part>
}

/** What an entry is about. */
export interface Subject {
  /** One word: 'module', 'asset'. */
  readonly kind: string
  /** A path relative to the checkout, or another name. */
  readonly path: string
}

/** A share of the entries of namespaces. */
export interface Part {
  /** Undefined for what users need not know of. */
  readonly subject: Subject | undefined
  readonly entries: number
  /** Of keys and values, before compression. */
  readonly bytes: number
  /** What it cost to make, in milliseconds; 0 if that is unknown. */
  readonly workMs: number
}

/** Reads the entries of a cache. */
export interface CacheReader {
  /** Reads no values. */
  keys(namespace: string): Iterable<Omit<ReadEntry, 'value'>>
  entries(namespace: string): Iterable<ReadEntry>
}

/** An entry. */
export interface ReadEntry {
  /** Empty if its bytes are not text. */
  readonly key: string
  /** Bytes of key and value. */
  readonly bytes: number
  /** Valid until the next entry is read. */
  readonly value: Uint8Array
}

/** What the calls of `cache.files` take and tell. Each option says its default and its price. */
import type { RestoreMode } from '../engine/files.ts'
import type { WatchOptions } from '../options.ts'
import type { FileManifest } from '../values/manifest.ts'

/** Options of `files.store`. */
export interface StoreOptions extends WatchOptions {
  /**
   * The folder that paths of the manifest are relative to; everything stored lies in it.
   * @defaultValue the folder itself where one is stored, the current directory for a list of paths
   */
  readonly base?: string | undefined
  /**
   * Symbolic links. `'refuse'`: storing one fails. `'inside'`: a link is kept as a link where its target stays below
   * `base`.
   * @defaultValue `'refuse'`
   */
  readonly links?: 'refuse' | 'inside' | undefined
}

/** Options of `files.restore`. */
export interface RestoreOptions extends WatchOptions {
  /**
   * How files get their content. `'auto'`: blocks shared with the cache where the file system can (Btrfs, XFS), else a
   * copy. `'reflink'`: shared blocks or an error. `'copy'`: a copy. `'hardlink'`: the file of the cache itself under a
   * second name, made read-only (0444, 0555), a copy where that is impossible; the fastest, but whoever gets round the
   * mode and writes into it damages the cache, which then counts that content as lost. A cache with a secret takes
   * `'hardlink'` for `'auto'`: a hard link would let anyone who can write to the cache change what was restored.
   * @defaultValue `'auto'`
   */
  readonly mode?: RestoreMode | undefined
  /**
   * Remove everything below the target that the manifest does not have, before files are placed. Links are removed, never
   * what they lead to.
   * @defaultValue `false`
   */
  readonly clean?: boolean | undefined
}

/** The outcome of `files.restore`, in numbers of files, links and empty folders. */
export interface RestoreReport {
  /** What the manifest has. */
  readonly entries: number
  /** What was there already, and was left untouched. */
  readonly unchanged: number
  readonly copied: number
  /** Files that share their blocks with the cache. */
  readonly cloned: number
  /** Files that are a second name of the cache's. */
  readonly linked: number
  /** What `clean` removed. */
  readonly removed: number
}

/** Options of `files.importTar`. Progress is in bytes of the archive. */
export interface ImportTarOptions extends WatchOptions {
  /**
   * Symbolic links, as in `store`. Hard links, devices and pipes are always refused.
   * @defaultValue `'refuse'`
   */
  readonly links?: 'refuse' | 'inside' | undefined
  /**
   * Most bytes of the archive, decompressed: a bomb fails here.
   * @defaultValue 4 GiB
   */
  readonly maxBytes?: number | undefined
  /**
   * Most bytes of one file, which is held in memory.
   * @defaultValue 1 GiB
   */
  readonly maxFileBytes?: number | undefined
  /**
   * Most entries.
   * @defaultValue 1,000,000
   */
  readonly maxFiles?: number | undefined
}

/** What was in an archive. */
export interface ImportedTar {
  readonly manifest: FileManifest
  /** What is odd and no reason to refuse it: a path that is there twice, of which the last one counts. */
  readonly warnings: readonly string[]
}

/** Options of `files.exportTar`. */
export interface ExportTarOptions extends WatchOptions {
  /**
   * Compress with gzip. The bytes are the same as long as the version of Varve is.
   * @defaultValue `false`
   */
  readonly gzip?: boolean | undefined
}

/** The outcome of `files.verify`. */
export interface FilesReport {
  /** Whether every content is there and what it was. */
  readonly sound: boolean
  /** Contents read. */
  readonly files: number
  /** Their bytes. */
  readonly bytes: number
  /** Paths (of a manifest), or digests, of what is missing or damaged. */
  readonly lost: readonly string[]
}

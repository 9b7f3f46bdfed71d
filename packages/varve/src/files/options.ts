/** Options and reports of `cache.files`. Each option states its default and its cost. */
import type { RestoreMode } from '../engine/engine.ts'
import type { WatchOptions } from '../options.ts'
import type { FileManifest } from '../values/manifest.ts'

/** Options of `files.store`. */
export interface StoreOptions extends WatchOptions {
  /**
   * The directory that the paths of the manifest are relative to. It contains everything that is stored.
   * @defaultValue the stored directory itself; for a list of paths, the current directory
   */
  readonly base?: string | undefined
  /**
   * How to store symbolic links. `'refuse'`: the call rejects. `'inside'`: a link is stored as a link if its target is below
   * `base`.
   * @defaultValue `'refuse'`
   */
  readonly links?: 'refuse' | 'inside' | undefined
}

/** Options of `files.restore`. */
export interface RestoreOptions extends WatchOptions {
  /**
   * How files get their content. `'auto'`: blocks shared with the cache if the file system supports it (Btrfs, XFS),
   * otherwise a copy. `'reflink'`: shared blocks or an error. `'copy'`: a copy. `'hardlink'`: a hard link to the file in the
   * cache, made read-only (0444, 0555), or a copy if that is impossible. Hard links are the fastest, but a program that
   * changes such a file despite its mode damages the cache, which then treats that content as lost. A cache with a secret
   * uses `'auto'` instead of `'hardlink'`, because anyone who can write to the cache could change the restored file.
   * @defaultValue `'auto'`
   */
  readonly mode?: RestoreMode | undefined
  /**
   * Removes everything below the target that is not in the manifest: what is in the way before files are placed, the rest
   * after that. Links are removed, their targets never. Nothing is removed if the cache lacks a content (FILES_DAMAGED) or the target is refused
   * (INVALID_ARGUMENT): one with the working or home directory, a cache or a repository in it, or in a cache.
   * @defaultValue `false`
   */
  readonly clean?: boolean | undefined
}

/** The outcome of `files.restore`, in numbers of files, links and empty directories. */
export interface RestoreReport {
  /** Entries of the manifest. */
  readonly entries: number
  /** Entries that were in place and left as they were. */
  readonly unchanged: number
  readonly copied: number
  /** Files that share their blocks with the cache. */
  readonly cloned: number
  /** Files that are hard links into the cache. */
  readonly linked: number
  /** Entries that `clean` removed. */
  readonly removed: number
}

/** Options of `files.importTar`. Progress is in bytes of the archive. */
export interface ImportTarOptions extends WatchOptions {
  /**
   * How to store symbolic links, as in `store`. Hard links, devices and pipes are always refused.
   * @defaultValue `'refuse'`
   */
  readonly links?: 'refuse' | 'inside' | undefined
  /**
   * Limit for the bytes of the decompressed archive, which stops decompression bombs.
   * @defaultValue 4 GiB
   */
  readonly maxBytes?: number | undefined
  /**
   * Limit for the bytes of one file, which is held in memory.
   * @defaultValue 1 GiB
   */
  readonly maxFileBytes?: number | undefined
  /**
   * Limit for the number of entries.
   * @defaultValue 1,000,000
   */
  readonly maxFiles?: number | undefined
}

/** The result of `files.importTar`. */
export interface ImportedTar {
  readonly manifest: FileManifest
  /** Irregularities that do not make the archive invalid, such as a path that occurs twice; its last occurrence counts. */
  readonly warnings: readonly string[]
}

/** Options of `files.exportTar`. */
export interface ExportTarOptions extends WatchOptions {
  /**
   * Compresses with gzip. The same version of Varve gives the same bytes.
   * @defaultValue `false`
   */
  readonly gzip?: boolean | undefined
}

/** The outcome of `files.verify`. */
export interface FilesReport {
  /** Whether every content is present and unchanged. */
  readonly sound: boolean
  /** Number of contents read. */
  readonly files: number
  /** Their bytes. */
  readonly bytes: number
  /** Paths (in a manifest), or digests, of contents that are missing or damaged. */
  readonly lost: readonly string[]
}

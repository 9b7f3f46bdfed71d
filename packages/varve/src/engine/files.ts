/** The part of an engine that handles files, stored by their content. Part of `engine.ts`. */
import type { FileEntry } from '../values/manifest.ts'
import type { EngineControl } from './control.ts'

/** A content that is stored. */
export interface StoredContent {
  /** BLAKE3, 64 hex digits. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
}

/** A file that was read and stored. */
export interface StoredFile extends StoredContent {
  /** Whether any user may execute it. */
  readonly executable: boolean
}

/** How files get their content; see `RestoreOptions.mode`. */
export type RestoreMode = 'auto' | 'reflink' | 'hardlink' | 'copy'

/** What to restore, and where. */
export interface RestoreRequest {
  /** Writes nothing, and rejects with FILES_DAMAGED unless the cache has all contents. */
  readonly checkOnly?: boolean
  /** Absolute path of the root; created if it does not exist. */
  readonly target: string
  readonly mode: RestoreMode
  readonly files: readonly FileEntry[]
  /**
   * The present time on the clock of the target's file system, in whole milliseconds since 1970: a file that changed later, or shortly before,
   * may change again without a new time.
   */
  readonly atMs: number
}

/** The outcome, in numbers of files, links and directories. */
export interface RestoreAnswer {
  readonly unchanged: number
  readonly copied: number
  readonly cloned: number
  readonly linked: number
  /** The record to keep for this target; null if the present record still holds. */
  readonly restored: string | null
}

/** What an import takes; 0 is the engine's default. */
export interface ArchiveRequest {
  /** Symbolic links that stay inside are taken. */
  readonly links: boolean
  readonly maxBytes: number
  readonly maxFileBytes: number
  readonly maxFiles: number
  /** Bytes of the input, for progress. */
  readonly inputBytes: number
}

/** What was in an archive. */
export interface ImportAnswer {
  readonly files: readonly FileEntry[]
  readonly warnings: readonly string[]
}

/** An entry that is committed by itself. */
export interface AloneEntry {
  readonly namespace: string
  readonly version: string
  readonly key: string
  readonly value: string
}

/** Files of one open cache. Calls throw or reject with an EngineError. Progress counts files, that of an import bytes. */
export interface EngineFiles {
  /** Throws UNSAFE_PATH if a manifest of these entries breaks a rule. */
  check(files: readonly FileEntry[]): void
  /** Stores regular files below `root`; links on the way are refused. Stored contents stay until the next commit. */
  storeTree(root: string, paths: readonly string[], control: EngineControl): Promise<readonly StoredFile[]>
  /** `remembered`: the record of the last restore to this target, or ''. */
  restoreTree(request: RestoreRequest, remembered: string, control: EngineControl): Promise<RestoreAnswer>
  /** Removes files, links and empty folders below `root`, in this order; how many. */
  removeTree(root: string, paths: readonly string[], control: EngineControl): Promise<number>
  /** From a file, or from memory. */
  importArchive(input: string | Uint8Array, request: ArchiveRequest, control: EngineControl): Promise<ImportAnswer>
  /** To a file that must not be there. */
  exportArchive(files: readonly FileEntry[], path: string, gzip: boolean, control: EngineControl): Promise<void>
  list(): Promise<readonly StoredContent[]>
  /** Reads these contents; which are sound. */
  verify(
    files: readonly FileEntry[],
    control: EngineControl,
  ): Promise<readonly { readonly digest: string; readonly sound: boolean }[]>
  /** Commits one entry now; buffered entries stay buffered. */
  commitAlone(entry: AloneEntry): Promise<void>
}

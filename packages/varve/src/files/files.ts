/** `cache.files`: the public face of `trees.ts`, which loads at the first call. */
import type { WatchOptions } from '../options.ts'
import type { Session } from '../session/session.ts'
import type { FileItem, FileManifest } from '../values/manifest.ts'
import type {
  ExportTarOptions,
  FilesReport,
  ImportedTar,
  ImportTarOptions,
  RestoreOptions,
  RestoreReport,
  StoreOptions,
} from './options.ts'
import type { FileTrees } from './trees.ts'

/**
 * Files of one cache, stored by their content. Each content is stored once, even if several manifests name it. Varve keeps
 * it as long as an entry names it (see `namespace.put`), and new files until the next commit of this cache object.
 * Progress counts files unless stated otherwise. Calls reject with a VarveError. The code of these calls loads with the
 * first one.
 *
 * @example
 * const outputs = cache.namespace<FileManifest>('outputs', { codec: 'json' })
 * const manifest = outputs.get(taskHash)
 * if (manifest !== undefined) await cache.files.restore(manifest, 'dist')
 * else outputs.put(taskHash, await cache.files.store('dist'))
 */
export class Files {
  readonly #session: Session
  readonly #readOnly: boolean
  #trees: FileTrees | undefined

  /** @internal */
  constructor(session: Session, readOnly: boolean) {
    this.#session = session
    this.#readOnly = readOnly
  }

  /**
   * Stores a directory, a file, or a list of both, and returns the manifest. A file that is written to meanwhile is stored
   * as it was read. Memory holds as many files at a time as the engine has threads.
   *
   * Rejects with UNSAFE_PATH for links, devices and names that are not safe on every system; with IO, PERMISSION,
   * DISK_FULL, READ_ONLY, CANCELLED.
   */
  async store(what: string | readonly string[], options: StoreOptions = {}): Promise<FileManifest> {
    return (await this.#load()).store(what, options)
  }

  /**
   * Writes the files of a manifest below `target`. A file that already has the right size and digest is left as it is.
   * Varve replaces every other file as a whole, and never writes through a link. If the call rejects, some files may be in
   * place.
   *
   * Rejects with FILES_DAMAGED if a content is missing or damaged (treat it as a miss), with UNSAFE_PATH if the manifest
   * leads out of the target or something blocks a path, with IO, PERMISSION, DISK_FULL, CANCELLED.
   */
  async restore(manifest: FileManifest, target: string, options: RestoreOptions = {}): Promise<RestoreReport> {
    return (await this.#load()).restore(manifest, target, options)
  }

  /**
   * Stores the files of an archive: .tar, .tar.gz or .tar.zst, detected by its first bytes. `archive` is a path, the bytes
   * of the archive, or a stream, which Varve writes to a temporary file first.
   *
   * Rejects with BAD_ARCHIVE if the archive is damaged, too large or holds a refused entry; with UNSAFE_PATH for names that
   * are not safe on every system; with IO, also if the stream fails; with DISK_FULL, READ_ONLY, CANCELLED.
   */
  async importTar(
    archive: string | Uint8Array | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
    options: ImportTarOptions = {},
  ): Promise<ImportedTar> {
    return (await this.#load()).importTar(archive, options)
  }

  /**
   * Writes an archive with the files of a manifest: sorted, owned by user 0, with one fixed time, so that the same manifest
   * gives the same bytes. `to` is a path, whose file Varve replaces once the archive is complete, or a stream, which it ends. A device or
   * a pipe at that path is written to, not replaced.
   *
   * Rejects with FILES_DAMAGED, UNSAFE_PATH, PERMISSION, DISK_FULL, CANCELLED, or with IO, also if the stream fails.
   */
  async exportTar(
    manifest: FileManifest,
    to: string | NodeJS.WritableStream | WritableStream<Uint8Array>,
    options: ExportTarOptions = {},
  ): Promise<void> {
    return (await this.#load()).exportTar(manifest, to, options)
  }

  /** Every content in the cache, including those that no entry names and the next compaction removes. */
  async list(): Promise<readonly Pick<FileItem, 'digest' | 'size'>[]> {
    return (await this.#load()).list()
  }

  /** Reads the contents of a manifest, or all contents, and reports which are lost. Rejects with CANCELLED. */
  async verify(manifest?: FileManifest, options: WatchOptions = {}): Promise<FilesReport> {
    return (await this.#load()).verify(manifest, options)
  }

  async #load(): Promise<FileTrees> {
    const { FileTrees: Trees } = await import('./trees.ts')
    this.#trees ??= new Trees(this.#session, this.#readOnly)
    return this.#trees
  }
}

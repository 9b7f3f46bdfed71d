/** Trees of files and archives, stored by their content: what the calls of `Files` do. */
import { builtin } from '../host/builtin.ts'
import { isBytes, isGone, plainBytes, readText } from '../values/bytes.ts'
import type { EngineControl, RestoreMode, RestoreRequest, StoredContent } from '../engine/engine.ts'
import { toVarveError, VarveError } from '../errors.ts'
import { fileNowMs, lookAt, measureClock } from '../inputs/stamp.ts'
import type { WatchOptions } from '../options.ts'
import { type Session, WATCH_FIELDS, watched } from '../session/session.ts'
import { BOOLEAN, checkOptions, describe, type Field, type Fields, oneOf, STRING } from '../checks/options.ts'
import { findLeftovers, findSurplus, refuseTarget, type Surplus, withoutAliases, findFiles } from './walk.ts'
import { entriesOf, type FileManifest, isFile, manifestOf } from '../values/manifest.ts'
import type {
  ExportTarOptions,
  FilesReport,
  ImportedTar,
  ImportTarOptions,
  RestoreOptions,
  RestoreReport,
  StoreOptions,
} from './options.ts'
import {
  type ByteSource,
  type ByteTarget,
  hostFiles,
  intoPlace,
  isSource,
  isTarget,
  spoolIn,
  spoolOut,
  withSpool,
} from './spool.ts'
import { readBytes } from '../session/lookups.ts'

const LINKS = oneOf('refuse', 'inside')
const COUNT: Field = ['a whole number from 1', (value) => Number.isSafeInteger(value) && Number(value) >= 1]
const STORE_FIELDS: Fields<StoreOptions> = { ...WATCH_FIELDS, base: STRING, links: LINKS }
const RESTORE_FIELDS: Fields<RestoreOptions> = {
  ...WATCH_FIELDS,
  mode: oneOf('auto', 'reflink', 'hardlink', 'copy'),
  clean: BOOLEAN,
}
const IMPORT_FIELDS: Fields<ImportTarOptions> = {
  ...WATCH_FIELDS,
  links: LINKS,
  maxBytes: COUNT,
  maxFileBytes: COUNT,
  maxFiles: COUNT,
}
const EXPORT_FIELDS: Fields<ExportTarOptions> = { ...WATCH_FIELDS, gzip: BOOLEAN }

/** Files of one cache; `Files` documents its calls. */
export class FileTrees {
  readonly #session: Session
  readonly #readOnly: boolean

  constructor(session: Session, readOnly: boolean) {
    this.#session = session
    this.#readOnly = readOnly
  }

  async store(what: string | readonly string[], options: StoreOptions): Promise<FileManifest> {
    checkOptions('files.store()', options, STORE_FIELDS)
    return watched(options, async (control) => {
      const files = hostFiles()
      const { base, entries } = await findFiles(files, what, options.base, options.links === 'inside', control.signal)
      await this.#session.run(async (store) => (await store.files()).check(entries), 'none')
      const paths = entries.filter(isFile).map((entry) => entry.path)
      const stored = await this.#session.run(
        async (store) => (await store.files()).storeTree(base, paths, control),
        'write',
      )
      const contents = stored.values()
      return manifestOf(
        entries.map((entry) => {
          const content = isFile(entry) ? contents.next().value : undefined
          if (content === undefined) return entry
          const { size, digest, executable } = content
          return executable ? { path: entry.path, size, digest, executable } : { path: entry.path, size, digest }
        }),
      )
    })
  }

  async restore(manifest: FileManifest, target: string, options: RestoreOptions): Promise<RestoreReport> {
    checkOptions('files.restore()', options, RESTORE_FIELDS)
    const entries = entriesOf('files.restore()', manifest)
    const root = absolute('target', target)
    return watched(options, async (control) => {
      await this.#session.run(async (store) => (await store.files()).check(entries), 'none') // before anything is removed
      const request = { target: root, mode: this.#modeOf(options), files: entries, atMs: timeAt(root) }
      const surplus = options.clean === true ? await this.#surplus(request, control) : { blocking: [], others: [] }
      let removed = await this.#remove(root, surplus.blocking, control)
      await this.#remove(root, findLeftovers(hostFiles(), root, entries), control)
      const before = remembered(this.#session, root)
      const { restored, ...counts } = await this.#session.run(async (store) =>
        (await store.files()).restoreTree(request, before, control),
      )
      removed += await this.#remove(root, withoutAliases(hostFiles(), root, surplus.others, entries), control)
      if (restored !== null && !this.#readOnly) await remember(this.#session, root, restored)
      return { entries: entries.length, ...counts, removed }
    })
  }

  async importTar(given: string | Uint8Array | ByteSource, options: ImportTarOptions): Promise<ImportedTar> {
    checkOptions('files.importTar()', options, IMPORT_FIELDS)
    if (!isBytes(given) && isSource(given)) {
      return withSpool(async (path) => {
        await spoolIn(given, path, options.signal)
        return this.importTar(path, options)
      })
    }
    if (typeof given !== 'string' && !isBytes(given)) {
      throw new VarveError(
        'INVALID_ARGUMENT',
        `files.importTar() takes a path, bytes or a stream, not ${describe(given)}`,
      )
    }
    if (typeof given !== 'string' && isGone(given)) {
      throw new VarveError(
        'INVALID_ARGUMENT',
        'the memory of the archive was transferred; import it before, or a copy of it',
      )
    }
    const archive = typeof given === 'string' ? given : plainBytes(given)
    const { links, maxBytes = 0, maxFileBytes = 0, maxFiles = 0 } = options
    const inputBytes = typeof archive === 'string' ? await sizeOf(absolute('archive', archive)) : archive.length
    const request = { links: links === 'inside', maxBytes, maxFileBytes, maxFiles, inputBytes }
    return watched(options, async (control) => {
      const imported = await this.#session.run(
        async (store) => (await store.files()).importArchive(archive, request, control),
        'write',
      )
      return { manifest: manifestOf(imported.files), warnings: imported.warnings }
    })
  }

  async exportTar(manifest: FileManifest, to: string | ByteTarget, options: ExportTarOptions): Promise<void> {
    checkOptions('files.exportTar()', options, EXPORT_FIELDS)
    const entries = entriesOf('files.exportTar()', manifest)
    const write = (path: string): Promise<void> =>
      watched(options, (control) =>
        this.#session.run(async (store) =>
          (await store.files()).exportArchive(entries, path, options.gzip ?? false, control),
        ),
      )
    if (typeof to !== 'string' && !isTarget(to)) {
      throw new VarveError('INVALID_ARGUMENT', `files.exportTar() takes a path or a stream, not ${describe(to)}`)
    }
    const toStream = (target: () => ByteTarget): Promise<void> =>
      withSpool(async (path) => {
        await write(path)
        await spoolOut(path, target(), options.signal)
      })
    if (typeof to !== 'string') return toStream(() => to)
    const path = absolute('to', to)
    // The stream is made once it has a listener: before, a file that cannot be opened would end the process.
    await intoPlace(path, (place, creates) =>
      creates ? write(place) : toStream(() => hostFiles().createWriteStream(place)),
    )
  }

  async list(): Promise<readonly StoredContent[]> {
    const contents = await this.#session.run(async (store) => (await store.files()).list())
    return contents.map(({ digest, size }) => ({ digest, size }))
  }

  async verify(manifest: FileManifest | undefined, options: WatchOptions): Promise<FilesReport> {
    checkOptions('files.verify()', options, WATCH_FIELDS)
    return watched(options, async (control) => {
      const files =
        manifest === undefined
          ? (await this.list()).map(({ digest, size }) => ({ path: digest, size, digest }))
          : entriesOf('files.verify()', manifest).filter(isFile)
      const verified = await this.#session.run(async (store) => (await store.files()).verify(files, control))
      const lost = files.filter((_, index) => verified[index]?.sound !== true).map((file) => file.path)
      return {
        sound: lost.length === 0,
        files: files.length,
        bytes: files.reduce((sum, file) => sum + file.size, 0),
        lost,
      }
    })
  }

  /** A hard link would let anyone who can write to the cache change an output after it was verified. */
  #modeOf({ mode = 'auto' }: RestoreOptions): RestoreMode {
    return mode === 'hardlink' && this.#session.call((store) => store.status()).authenticated ? 'auto' : mode
  }

  /** What a clean restore removes. Rejects before anything is removed if the target is refused or a content is missing. */
  async #surplus(request: RestoreRequest, control: EngineControl): Promise<Surplus> {
    const { target, files } = request
    refuseTarget(hostFiles(), target, this.#session.directory)
    await this.#session.run(async (store) =>
      (await store.files()).restoreTree({ ...request, checkOnly: true }, '', quiet(control)),
    )
    return findSurplus(hostFiles(), target, files, control.signal)
  }

  async #remove(root: string, paths: readonly string[], control: EngineControl): Promise<number> {
    if (paths.length === 0) return 0
    return this.#session.run(async (store) => (await store.files()).removeTree(root, paths, quiet(control)))
  }
}

/** The control of a call without reports of progress. */
function quiet({ signal }: EngineControl): EngineControl {
  return { signal, onProgress: undefined }
}

/** The absolute form of a path. Throws INVALID_ARGUMENT unless it is one. */
function absolute(name: string, path: string): string {
  const given: unknown = path
  if (typeof given !== 'string' || given === '' || given.includes('\0')) {
    throw new VarveError('INVALID_ARGUMENT', `${name} is the path of a file or directory, not ${describe(given)}`)
  }
  return builtin('node:path')?.resolve(given) ?? given
}

/** Bytes of a file; 0 = unknown, also if the engine will not be able to open it. */
async function sizeOf(path: string): Promise<number> {
  return hostFiles()
    .promises.stat(path)
    .then(
      ({ size }) => size,
      () => 0,
    )
}

/** The present time on the clock of the file system that has this path, or will have it. */
function timeAt(path: string): number {
  const files = hostFiles()
  const { dirname } = builtin('node:path') ?? { dirname: (folder: string) => folder }
  const isFolder = (folder: string): boolean => typeof lookAt(files, folder) === 'object'
  let folder = path
  while (!isFolder(folder) && folder !== dirname(folder)) folder = dirname(folder)
  measureClock(files, folder)
  return Math.max(0, Math.floor(fileNowMs()))
}

// Records of restores, so that the next restore to the same target skips unchanged files without reading them: an entry for
// each target path, in a separate namespace. The engine defines its content.

const NAMESPACE = 'varve/restored'
const VERSION = '1 text'

/** The record of the last restore to `target`; '' if there is none. */
export function remembered(session: Session, target: string): string {
  const store = session.store
  try {
    const namespace = store.namespace(NAMESPACE, VERSION)
    const value = readBytes(session, store, namespace, target)
    return value === undefined ? '' : readText(value, 0, value.length)
  } catch (error) {
    return session.miss(error) ?? ''
  }
}

/** Stores the record in its own commit. If that fails, the next restore reads more files. */
export async function remember(session: Session, target: string, value: string): Promise<void> {
  try {
    await session.run(
      async (store) =>
        (await store.files()).commitAlone({ namespace: NAMESPACE, version: VERSION, key: target, value }),
      'write',
    )
  } catch (error) {
    session.warn(toVarveError(error), 'remember')
  }
}

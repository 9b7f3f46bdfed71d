/** Files of the WebAssembly engine: contents are the module's, trees are walked here over `node:fs`. */
import type * as fs from 'node:fs'
import { digestOf, type WasmStore, type Watcher } from '../../generated/varve_wasm.js'
import type {
  AloneEntry,
  ArchiveRequest,
  EngineControl,
  EngineFiles,
  ImportAnswer,
  RestoreAnswer,
  RestoreRequest,
  StoredContent,
  StoredFile,
} from './engine.ts'
import { byPath, type FileEntry, type FileItem } from '../values/manifest.ts'
import { refused } from '../errors.ts'
import { jsonOf, parseJson } from '../values/json.ts'
import { EngineFailure, reportOf, inSlices, watcherOf } from './answers.ts'
import { blockedOr, codeOf, fileFailure, hostFiles, TreeWalker } from './tree-folder.ts'
import { type Contents, type RestoreRecord, TreeRestore } from './tree-restore.ts'
import { nowMs } from '../host/own.ts'

/** Longest file that is stored, as in the native engine. */
const FILE_BYTES_MAX = 2 ** 31 - 1

/** What these calls need of their store. */
export interface WasmFilesStore {
  readonly store: WasmStore
  /** Folder with the files of the cache; undefined for a cache in memory. */
  readonly folder: string | undefined
  readonly readOnly: boolean
  call<T>(call: () => T): T
  /** Length of the held answer, -1 for none. */
  number(call: () => number): number
  /** Copies the kept answer of the last call to `target`. */
  take(target: Uint8Array): void
  /** For calls of the module of the engine; that of archives may call it meanwhile. */
  watcher(control: EngineControl): Watcher
}

export class WasmTrees implements EngineFiles {
  readonly #of: WasmFilesStore
  /** Calls that store, and whether something is kept for the next commit. */
  #storing = 0
  #keeps = false

  constructor(of: WasmFilesStore) {
    this.#of = of
  }

  /** Whether the cache has contents that no entry names yet; only this thread knows them. */
  get isHolding(): boolean {
    return this.#storing > 0 || this.#keeps
  }

  /** Call after each commit. */
  committed(): void {
    this.#keeps = false
  }

  check(files: readonly FileEntry[]): void {
    const json = jsonOf(files)
    this.#ask((store) => store.checkFiles(json))
  }

  async storeTree(root: string, paths: readonly string[], control: EngineControl): Promise<readonly StoredFile[]> {
    const files = hostFiles()
    return this.#store(async (number) => {
      const stored: StoredFile[] = []
      const walker = new TreeWalker(files, root, false)
      try {
        await inSlices(paths, control, (path) => void stored.push(this.#storeOne(files, walker, path, number)))
      } finally {
        walker.close()
      }
      return stored
    })
  }

  async restoreTree(request: RestoreRequest, remembered: string, control: EngineControl): Promise<RestoreAnswer> {
    const files = hostFiles()
    const { target, mode, atMs } = request
    const at = String(BigInt(atMs) * 1_000_000n)
    const counts = { unchanged: 0, copied: 0, cloned: 0, linked: 0 }
    if (request.checkOnly === true) {
      this.#ask((store) => store.checkContents(jsonOf(request.files), this.#of.watcher(control)))
      return { ...counts, restored: null }
    }
    this.check(request.files)
    const before = restoredOf(remembered)
    const walker = new TreeWalker(files, target, true)
    try {
      const restore = new TreeRestore(files, walker, this.#contents(), mode, before)
      const sorted = [...request.files].sort(byPath)
      await inSlices(sorted, control, (entry) => void counts[restore.place(entry)]++)
      const isKnown = restore.isTrusted && restore.placed.length === before.files.length
      return { ...counts, restored: isKnown ? null : jsonOf({ at, files: restore.placed }) }
    } finally {
      walker.close()
    }
  }

  async removeTree(root: string, paths: readonly string[], control: EngineControl): Promise<number> {
    const files = hostFiles()
    let removed = 0
    const walker = new TreeWalker(files, root, false)
    try {
      await inSlices(paths, control, (path) => void (removed += removeOne(files, walker, path)))
    } finally {
      walker.close()
    }
    return removed
  }

  async importArchive(
    input: string | Uint8Array,
    request: ArchiveRequest,
    control: EngineControl,
  ): Promise<ImportAnswer> {
    const archives = await import('./wasm-archives.ts')
    await archives.prepareArchives()
    const { read, close } = archives.sourceOf(input)
    try {
      const watcher = watcherOf(control)
      return await this.#store(async (number) => {
        const store = (content: Uint8Array): string =>
          this.#ask<StoredContent>((engine) => engine.storeFile(number, content)).digest
        return archives.importArchive(request, { read, store }, watcher)
      })
    } finally {
      close()
    }
  }

  async exportArchive(files: readonly FileEntry[], path: string, gzip: boolean, control: EngineControl): Promise<void> {
    const archives = await import('./wasm-archives.ts')
    await archives.prepareArchives()
    const { write, close } = archives.targetOf(path)
    try {
      const watcher = watcherOf(control)
      const content = (digest: string, size: number): Uint8Array | undefined => this.#content(digest, size)
      archives.exportArchive(files, gzip, { write, content }, watcher)
    } finally {
      close()
    }
  }

  async list(): Promise<readonly StoredContent[]> {
    return this.#ask((store) => store.listFiles())
  }

  async verify(
    files: readonly FileEntry[],
    control: EngineControl,
  ): Promise<readonly { readonly digest: string; readonly sound: boolean }[]> {
    const watcher = this.#of.watcher(control)
    return this.#ask((store) => store.verifyFiles(jsonOf(files), watcher))
  }

  async commitAlone(entry: AloneEntry): Promise<void> {
    this.#ask((store) => store.commitAlone(jsonOf(entry), nowMs()))
  }

  #ask<Report>(question: (store: WasmStore) => string): Report {
    return reportOf(this.#of.call(() => question(this.#of.store)))
  }

  /** Stored contents stay until the next commit, unless `use` fails. */
  async #store<Report>(use: (number: number) => Promise<Report>): Promise<Report> {
    const number = this.#ask<number>((store) => store.beginStoring())
    let isDone = false
    this.#storing++
    try {
      const report = await use(number)
      isDone = true
      return report
    } finally {
      this.#storing--
      this.#keeps ||= isDone
      this.#ask((store) => store.endStoring(number, isDone))
    }
  }

  #storeOne(files: typeof fs, walker: TreeWalker, path: string, number: number): StoredFile {
    const { folder, name } = walker.go(path)
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = files.constants
    let handle: number
    try {
      handle = files.openSync(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch (error) {
      if (['ELOOP', 'ENXIO'].includes(codeOf(error) ?? '')) throw notAFile(path)
      throw blockedOr(path, name, error)
    }
    try {
      const stat = files.fstatSync(handle)
      if (!stat.isFile()) throw notAFile(path)
      if (stat.size > FILE_BYTES_MAX) throw tooLong(path, stat.size)
      const content = files.readFileSync(handle)
      const stored: StoredContent = this.#ask((store) => store.storeFile(number, content))
      return { ...stored, executable: (stat.mode & 0o111) !== 0 }
    } catch (error) {
      throw error instanceof EngineFailure ? error : fileFailure('read', path, error)
    } finally {
      files.closeSync(handle)
    }
  }

  #contents(): Contents {
    const { folder, readOnly, call } = this.#of
    return {
      mayLink: !readOnly,
      digestOf: (content) => call(() => digestOf(content)),
      placeOf: (digest) => (folder === undefined ? undefined : `${folder}/files/${digest.slice(0, 2)}/${digest}`),
      read: (file: FileItem) => this.#content(file.digest, file.size),
    }
  }

  /** A stored content; undefined if it is missing or damaged. */
  #content(digest: string, size: number): Uint8Array | undefined {
    const { store, number, take } = this.#of
    const length = number(() => store.readFile(digest, size))
    if (length < 0) return undefined
    const content = new Uint8Array(length)
    take(content)
    return content
  }
}

function tooLong(path: string, bytes: number): EngineFailure {
  const text = `'${path}' has ${bytes} bytes, the limit of a stored file is ${FILE_BYTES_MAX}; leave it out or split it`
  return new EngineFailure('VALUE_TOO_LONG', text)
}

function notAFile(path: string): EngineFailure {
  return new EngineFailure(
    'UNSAFE_PATH',
    refused(path, 'is not a regular file but a link, a device, a pipe or a socket').message,
  )
}

function restoredOf(text: string): RestoreRecord {
  try {
    const parsed = parseJson(text) as Partial<RestoreRecord>
    if (typeof parsed.at === 'string' && /^\d+$/.test(parsed.at) && Array.isArray(parsed.files))
      return { at: parsed.at, files: parsed.files }
  } catch {} // nothing is known then
  return { at: '0', files: [] }
}

function removeOne(files: typeof fs, walker: TreeWalker, path: string): number {
  const { folder, name } = walker.go(path)
  const place = folder.at(name)
  try {
    const stat = files.lstatSync(place, { throwIfNoEntry: false })
    if (stat === undefined) return 0
    if (stat.isDirectory()) files.rmdirSync(place)
    else files.unlinkSync(place)
    return 1
  } catch (error) {
    if (['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error) ?? '')) return 0
    throw fileFailure('remove', path, error)
  }
}

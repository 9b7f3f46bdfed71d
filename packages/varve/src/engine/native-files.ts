/**
 * The calls of the addon, as types, and its calls for files: `crates/node/src/calls/{files,trees,archives}.rs`, requests and answers as
 * JSON. napi-derive makes most types (`generated/native.d.ts`) from `crates/node/src`.
 */
import type * as addon from '../../generated/native.js'
import type { NodeStore, Progress } from '../../generated/native.js'
import type {
  AloneEntry,
  ArchiveRequest,
  EngineControl,
  EngineFiles,
  EngineStore,
  ImportAnswer,
  RestoreAnswer,
  RestoreRequest,
  StoredContent,
  StoredFile,
} from './engine.ts'
import type { FileEntry } from '../values/manifest.ts'
import { nowMs } from '../host/own.ts'
import { jsonOf } from '../values/json.ts'
import { reportOf } from './answers.ts'

export type NativeAddon = typeof addon

export type { NodeStore, Progress }

declare module '../../generated/native.js' {
  /** What runs for each entry (`crates/node/src/hot.rs`): properties of the object, which take less time than methods. */
  interface NodeStore {
    readonly get: EngineStore['get']
    /** `finderOf` in `native.ts` calls it. */
    readonly find: (key: string) => void
    readonly read: EngineStore['read']
    readonly has: EngineStore['has']
    readonly put: EngineStore['put']
    readonly delete: EngineStore['delete']
    readonly getMany: EngineStore['getMany']
  }
}

/** Runs a long call whose progress is watched. */
export type Watched = <Report>(control: EngineControl, call: (progress: Progress) => Promise<string>) => Promise<Report>

/** Files of one open store. */
export class NativeFiles implements EngineFiles {
  readonly #store: NodeStore
  readonly #watched: Watched

  constructor(store: NodeStore, watched: Watched) {
    this.#store = store
    this.#watched = watched
  }

  check(files: readonly FileEntry[]): void {
    this.#store.checkFiles(jsonOf(files))
  }

  storeTree(root: string, paths: readonly string[], control: EngineControl): Promise<readonly StoredFile[]> {
    const tree = jsonOf({ root, paths })
    return this.#storing(control, (progress) => this.#store.storeTree(tree, progress))
  }

  restoreTree(request: RestoreRequest, remembered: string, control: EngineControl): Promise<RestoreAnswer> {
    const json = jsonOf(request)
    return this.#watched(control, (progress) => this.#store.restoreTree(json, progress, remembered))
  }

  removeTree(root: string, paths: readonly string[], control: EngineControl): Promise<number> {
    const tree = jsonOf({ root, paths })
    return this.#watched(control, (progress) => this.#store.removeTree(tree, progress))
  }

  importArchive(input: string | Uint8Array, request: ArchiveRequest, control: EngineControl): Promise<ImportAnswer> {
    const [path, bytes] = typeof input === 'string' ? [input, undefined] : [undefined, input]
    const json = jsonOf({ ...request, path })
    return this.#storing(control, (progress) => this.#store.importArchive(json, progress, bytes))
  }

  async exportArchive(files: readonly FileEntry[], path: string, gzip: boolean, control: EngineControl): Promise<void> {
    const json = jsonOf({ files, path, gzip })
    await this.#watched(control, (progress) => this.#store.exportArchive(json, progress))
  }

  async list(): Promise<readonly StoredContent[]> {
    return reportOf(await this.#store.listFiles())
  }

  verify(
    files: readonly FileEntry[],
    control: EngineControl,
  ): Promise<readonly { readonly digest: string; readonly sound: boolean }[]> {
    const json = jsonOf(files)
    return this.#watched(control, (progress) => this.#store.verifyFiles(json, progress))
  }

  async commitAlone(entry: AloneEntry): Promise<void> {
    reportOf(await this.#store.commitAlone(jsonOf(entry), nowMs()))
  }

  /** The store pins what was stored from the moment the call returns. */
  async #storing<Report>(control: EngineControl, call: (progress: Progress) => Promise<string>): Promise<Report> {
    try {
      return await this.#watched<Report>(control, call)
    } finally {
      this.#store.keepStored()
    }
  }
}

/** Files of the native engine: `crates/node/src/calls/{files,trees,archives}.rs`, requests and answers as JSON. */
import type {
  AloneEntry,
  ArchiveRequest,
  EngineFiles,
  ImportAnswer,
  RestoreAnswer,
  RestoreRequest,
  StoredContent,
  StoredFile,
} from './files.ts'
import type { EngineControl } from './engine.ts'
import type { FileEntry } from '../values/manifest.ts'
import { reportOf } from './answer.ts'
import { nowMs } from '../host/now.ts'
import { jsonOf } from '../values/json.ts'

/** The functions of an open store that are about files. */
export interface FileFunctions {
  putWithBlobs(namespace: number, keyBytes: number, packed: Uint8Array): void
  keepStored(): void
  commitAlone(entry: string, nowMs: number): Promise<string>
  checkFiles(files: string): void
  storeTree(tree: string, watch: number): Promise<string>
  restoreTree(request: string, watch: number, remembered: string): Promise<string>
  removeTree(tree: string, watch: number): Promise<string>
  importArchive(request: string, watch: number, bytes: Uint8Array | undefined): Promise<string>
  exportArchive(request: string, watch: number): Promise<string>
  listFiles(): Promise<string>
  verifyFiles(files: string, watch: number): Promise<string>
}

/** Runs a long call under a watch. */
export type Watched = <Report>(control: EngineControl, call: (watch: number) => Promise<string>) => Promise<Report>

/** Files of one open store. */
export class NativeFiles implements EngineFiles {
  readonly #functions: FileFunctions
  readonly #watched: Watched

  constructor(functions: FileFunctions, watched: Watched) {
    this.#functions = functions
    this.#watched = watched
  }

  check(files: readonly FileEntry[]): void {
    this.#functions.checkFiles(jsonOf(files))
  }

  storeTree(root: string, paths: readonly string[], control: EngineControl): Promise<readonly StoredFile[]> {
    const tree = jsonOf({ root, paths })
    return this.#storing(control, (watch) => this.#functions.storeTree(tree, watch))
  }

  restoreTree(request: RestoreRequest, remembered: string, control: EngineControl): Promise<RestoreAnswer> {
    const json = jsonOf(request)
    return this.#watched(control, (watch) => this.#functions.restoreTree(json, watch, remembered))
  }

  removeTree(root: string, paths: readonly string[], control: EngineControl): Promise<number> {
    const tree = jsonOf({ root, paths })
    return this.#watched(control, (watch) => this.#functions.removeTree(tree, watch))
  }

  importArchive(input: string | Uint8Array, request: ArchiveRequest, control: EngineControl): Promise<ImportAnswer> {
    const [path, bytes] = typeof input === 'string' ? [input, undefined] : [undefined, input]
    const json = jsonOf({ ...request, path })
    return this.#storing(control, (watch) => this.#functions.importArchive(json, watch, bytes))
  }

  async exportArchive(files: readonly FileEntry[], path: string, gzip: boolean, control: EngineControl): Promise<void> {
    const json = jsonOf({ files, path, gzip })
    await this.#watched(control, (watch) => this.#functions.exportArchive(json, watch))
  }

  async list(): Promise<readonly StoredContent[]> {
    return reportOf(await this.#functions.listFiles())
  }

  verify(
    files: readonly FileEntry[],
    control: EngineControl,
  ): Promise<readonly { readonly digest: string; readonly sound: boolean }[]> {
    const json = jsonOf(files)
    return this.#watched(control, (watch) => this.#functions.verifyFiles(json, watch))
  }

  async commitAlone(entry: AloneEntry): Promise<void> {
    reportOf(await this.#functions.commitAlone(jsonOf(entry), nowMs()))
  }

  /** The store pins what was stored from the moment the call returns. */
  async #storing<Report>(control: EngineControl, call: (watch: number) => Promise<string>): Promise<Report> {
    try {
      return await this.#watched<Report>(control, call)
    } finally {
      this.#functions.keepStored()
    }
  }
}

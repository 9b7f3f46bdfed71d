/** Archives under WebAssembly: a module of their own, which the first archive loads. */
import type * as fs from 'node:fs'
import * as glue from '../../generated/varve_archives.js'
import { bytes as moduleBytes } from '../../generated/varve_archives_bytes.js'
import type { FileEntry } from '../values/manifest.ts'
import { reportOf } from './answers.ts'
import { errnoOf, INVALID } from './host.ts'
import type { ArchiveRequest, ImportAnswer } from './engine.ts'
import { fileFailure, hostFiles } from './tree-folder.ts'
import { WasmInstance } from './wasm-instance.ts'
import { jsonOf } from '../values/json.ts'

type Source = Pick<glue.ArchiveHost, 'read'>
type Target = Pick<glue.ArchiveHost, 'write'>
type Contents = Pick<glue.ArchiveHost, 'content'>
type Closable = { close(): void }

const instance: WasmInstance = new WasmInstance(moduleBytes, glue, 'the cache is intact. Continue without this archive')

/** Call this before the other functions. */
export const prepareArchives = (): Promise<void> => instance.prepare()

/** Reads an archive; the host stores its files. */
export function importArchive(
  request: ArchiveRequest,
  host: Source & Pick<glue.ArchiveHost, 'store'>,
  watcher: glue.Watcher,
): ImportAnswer {
  return call(host, (safe) => glue.importArchive(jsonOf(request), safe, watcher))
}

/** Writes an archive of files whose contents the host returns. */
export function exportArchive(
  files: readonly FileEntry[],
  gzip: boolean,
  host: Target & Contents,
  watcher: glue.Watcher,
): void {
  call(host, (safe) => glue.exportArchive(jsonOf({ files, gzip }), safe, watcher))
}

/** The bytes of an archive: a file, or all of them. */
export function sourceOf(input: string | Uint8Array): Source & Closable {
  return typeof input === 'string' ? fromFile(input) : fromBytes(input)
}

/** A new file for an archive. */
export function targetOf(path: string): Target & Closable {
  const files = hostFiles()
  const handle = opened(files, path, 'wx')
  return {
    write: (bytes) => attempt(() => (files.writeFileSync(handle, bytes), 0)),
    close: () => files.closeSync(handle),
  }
}

function fromFile(path: string): Source & Closable {
  const files = hostFiles()
  const handle = opened(files, path, 'r')
  return { read: (target) => attempt(() => files.readSync(handle, target)), close: () => files.closeSync(handle) }
}

function fromBytes(bytes: Uint8Array): Source & Closable {
  let at = 0
  const next = (target: Uint8Array): number => {
    const piece = bytes.subarray(at, at + target.length)
    target.set(piece)
    at += piece.length
    return piece.length
  }
  // Nothing may be thrown through the module: what it had borrowed would stay so, and the next archive would fail.
  const read = (target: Uint8Array): number => attempt(() => next(target))
  return { read, close: () => undefined }
}

function opened(files: typeof fs, path: string, flags: string): number {
  try {
    return files.openSync(path, flags, 0o666)
  } catch (error) {
    throw fileFailure('open', path, error)
  }
}

function attempt(run: () => number): number {
  try {
    return run()
  } catch (error) {
    return errnoOf(error)
  }
}

const NO_ARCHIVE: glue.ArchiveHost = {
  read: () => INVALID,
  write: () => INVALID,
  store: () => '',
  content: () => undefined,
}

/** Runs a call with a host. The module cannot pass on what `store` and `content` throw, so this throws it afterwards. */
function call<Report>(given: Partial<glue.ArchiveHost>, run: (host: glue.ArchiveHost) => string): Report {
  const host = { ...NO_ARCHIVE, ...given }
  let failed: { readonly error: unknown } | undefined
  const kept = <R>(otherwise: R, ask: () => R): R => {
    try {
      return ask()
    } catch (error) {
      failed ??= { error }
      return otherwise
    }
  }
  const store = (content: Uint8Array): string => kept('', () => host.store(content))
  const content = (digest: string, bytes: number): Uint8Array | undefined =>
    kept(undefined, () => host.content(digest, bytes))
  try {
    const { generation } = instance.get()
    return reportOf(instance.guarded(generation, () => run({ ...host, store, content })))
  } catch (error) {
    throw failed === undefined ? error : failed.error
  }
}

/** Archives under WebAssembly: a module of their own, which the first archive loads. */
import * as glue from '../../generated/varve_archives.js'
import { bytes } from '../../generated/varve_archives_bytes.js'
import type { FileEntry } from '../values/manifest.ts'
import { reportOf } from './answer.ts'
import type { ArchiveRequest, ImportAnswer } from './files.ts'
import { WasmInstance } from './wasm-instance.ts'

export type { ArchiveHost } from '../../generated/varve_archives.js'

const instance: WasmInstance = new WasmInstance(bytes, glue, 'the cache is intact. Continue without this archive')

/** Reads an archive; the host stores its files. */
export function importArchive(request: ArchiveRequest, host: glue.ArchiveHost, watcher: glue.Watcher): ImportAnswer {
  return call(() => glue.importArchive(JSON.stringify(request), host, watcher))
}

/** Writes an archive of files whose contents the host returns. */
export function exportArchive(files: readonly FileEntry[], gzip: boolean, host: glue.ArchiveHost, watcher: glue.Watcher): void {
  call(() => glue.exportArchive(JSON.stringify({ files, gzip }), host, watcher))
}

function call<Report>(run: () => string): Report {
  const { generation } = instance.get()
  return reportOf(instance.guarded(generation, run))
}

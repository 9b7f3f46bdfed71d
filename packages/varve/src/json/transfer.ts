/**
 * A cache as JSON. To export, the engine makes the chunks, which go to a stream at its speed. To import, the engine parses the pieces;
 * every 16 MiB of entries become a commit.
 */
import type { WatchOptions } from '../options.ts'
import { codecOf } from '../values/codec.ts'
import type { CommitReport, EngineControl } from '../engine/engine.ts'
import type { ExportReport, ImportReport } from '../reports.ts'
import { type Session, WATCH_FIELDS } from '../session/session.ts'
import { chunksOf, type ExportTarget, type ImportSource, sinkOf, Steps } from './streams.ts'
import { BOOLEAN, type Fields, oneOf, STRING } from '../checks/options.ts'

/** Options of `cache.exportJson`. */
export interface ExportOptions extends WatchOptions {
  /**
   * `'json'`: one array, an entry on each line. `'ndjson'`: the same lines without the array around them.
   * @defaultValue `'json'`
   */
  readonly format?: 'json' | 'ndjson' | undefined
  /**
   * Exports only the entries of the namespace of this name.
   * @defaultValue all namespaces
   */
  readonly namespace?: string | undefined
  /**
   * Exports keys and the lengths of values without reading values. Such an export cannot be imported.
   * @defaultValue `false`
   */
  readonly keysOnly?: boolean | undefined
}

/** Options of `cache.importJson`. */
export interface ImportOptions extends WatchOptions {
  /**
   * Imports entries of a namespace that has another version in this cache. As with every commit of another version, this
   * removes the entries of that namespace. Without it such entries are refused.
   * @defaultValue `false`
   */
  readonly overwrite?: boolean | undefined
}

/** Fields of ExportOptions for `checkOptions`. */
export const EXPORT_FIELDS: Fields<ExportOptions> = {
  ...WATCH_FIELDS,
  format: oneOf('json', 'ndjson'),
  namespace: STRING,
  keysOnly: BOOLEAN,
}

/** Writes the committed entries to `target`. See `Cache.exportJson`. */
export function exportJson(
  session: Session,
  target: ExportTarget,
  options: ExportOptions,
  control: EngineControl,
): Promise<ExportReport> {
  return session.run(async (store) => {
    const sink = sinkOf(target, session.stopOf(control.signal))
    const steps = new Steps(control)
    const number = store.beginExport({
      namespace: options.namespace ?? null,
      list: options.format !== 'ndjson',
      keysOnly: options.keysOnly ?? false,
      textTag: codecOf('text').tag,
      jsonTag: codecOf('json').tag,
    })
    try {
      let bytes = 0
      for (;;) {
        const { chunk, entries, namespaces, done, total, more } = store.exportChunk(number)
        bytes += chunk.length
        if (chunk.length > 0) await sink.write(chunk)
        if (!more) {
          await sink.finish()
          control.onProgress?.(total, total)
          return { entries, namespaces, bytes }
        }
        await steps.step(done, total)
        session.checkOpen()
      }
    } finally {
      sink.release()
      store.endTransfer(number)
    }
  })
}

/** Fields of ImportOptions for `checkOptions`. */
export const IMPORT_FIELDS: Fields<ImportOptions> = { ...WATCH_FIELDS, overwrite: BOOLEAN }

/** Bytes of entries in one commit, about, and bytes that the engine takes at once. */
const COMMIT_BYTES = 16 * 1024 * 1024
const PIECE_BYTES = 256 * 1024

/** Reads entries from `source`. `committed` is called after each commit. See `Cache.importJson`. */
export function importJson(
  session: Session,
  source: ImportSource,
  options: ImportOptions,
  control: EngineControl,
  committed: (report: CommitReport) => void | Promise<void>,
): Promise<ImportReport> {
  return session.run(async (store) => {
    const steps = new Steps(control)
    const number = store.beginImport(options.overwrite ?? false)
    let entries = 0
    let namespaces = 0
    let commits = 0
    let bytes = 0
    // One commit runs on another thread while the next entries are read.
    let running: Promise<void> = Promise.resolve()
    const commit = async (): Promise<void> => {
      await running
      if (entries > 0) session.checkPlace('write')
      running = finished(store.commitImport(number))
      running.catch(() => {}) // the next commit, or the end, reports it
    }
    const finished = async (reported: Promise<CommitReport | undefined>): Promise<void> => {
      const report = await reported
      if (report === undefined) return
      commits += 1
      await committed(report)
    }
    try {
      for await (const chunk of chunksOf(source, session.stopOf(control.signal))) {
        for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
          const piece = chunk.subarray(start, start + PIECE_BYTES)
          const progress = store.feedImport(number, piece)
          bytes += piece.length
          entries = progress.entries
          namespaces = progress.namespaces
          if (progress.pendingBytes >= COMMIT_BYTES) await commit()
          await steps.step(bytes, 0)
          session.checkOpen()
        }
      }
      store.finishImport(number)
      await commit()
      await running
      return { entries, namespaces, commits, bytes }
    } finally {
      await running.catch(() => {}) // a call for it would not be possible any more
      store.endTransfer(number)
    }
  })
}

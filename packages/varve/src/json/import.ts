/** Imports what an export wrote. The engine parses the pieces; every 16 MiB of entries become a commit. */
import type { CommitReport, EngineControl } from '../engine/engine.ts'
import type { ImportOptions } from './options.ts'
import type { ImportReport } from '../reports.ts'
import type { Session } from '../session/session.ts'
import { chunksOf, type ImportSource, Steps } from './transfer.ts'
import { BOOLEAN, type Fields } from '../checks/validate.ts'
import { WATCH_FIELDS } from '../session/watch.ts'

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
    let [entries, namespaces, commits, bytes] = [0, 0, 0, 0]
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

/** A cache as JSON. The engine makes the chunks; this module writes them to a stream at the speed of the stream. */
import { codecOf } from '../values/codec.ts'
import type { EngineControl } from '../engine/engine.ts'
import type { ExportOptions } from './options.ts'
import type { ExportReport } from '../reports.ts'
import type { Session } from '../session/session.ts'
import { type ExportTarget, sinkOf, Steps } from './transfer.ts'
import { BOOLEAN, type Fields, oneOf, STRING } from '../checks/validate.ts'
import { WATCH_FIELDS } from '../session/watch.ts'

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

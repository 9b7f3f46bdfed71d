/** Puts the record of a build when its cache is closed. A failure costs a record and nothing else. */
import type { EngineStore } from '../engine/engine.ts'
import { VarveError } from '../errors.ts'
import { variable } from '../host/permission.ts'
import type { HistoryMode } from '../options.ts'
import { putRecord } from './history.ts'
import { encodeRecord } from './record.ts'
import type { Tally } from './tally.ts'

/** The option `history`, which VARVE_HISTORY overrides. Throws INVALID_OPTION. */
export function historyMode(given: HistoryMode = 'auto'): HistoryMode {
  const forced = variable('VARVE_HISTORY')
  if (forced === undefined || forced === '') return given
  if (forced === 'auto' || forced === 'always' || forced === 'never') return forced
  throw new VarveError('INVALID_OPTION', `VARVE_HISTORY is '${forced}'; set it to auto, always or never, or unset it`)
}

/** What the record of one open cache is made from. */
export interface RecorderParts {
  readonly mode: HistoryMode
  readonly name: string
  readonly engine: 'native' | 'wasm'
  readonly tally: Tally
}

/** The record of one open cache. */
export class Recorder {
  readonly #parts: RecorderParts
  readonly #startMs: number = Date.now()
  #writtenBytes = 0

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  /** Call before each commit, with the bytes that it writes. */
  committing(bytes: number): void {
    this.#writtenBytes += bytes
  }

  /** Whether this build leaves a record: it wrote something, or each build does. */
  isDue(store: EngineStore): boolean {
    const { mode } = this.#parts
    return mode === 'always' || (mode === 'auto' && this.#writtenBytes + store.pendingBytes() > 0)
  }

  /** Buffers the record. */
  put(store: EngineStore): void {
    const { name, engine, tally } = this.#parts
    const writtenBytes = this.#writtenBytes + store.pendingBytes()
    try {
      const layers = store.status().layers.filter(({ problem }) => problem === null).length
      const [startMs, durationMs] = [this.#startMs, Math.max(0, Date.now() - this.#startMs)]
      const facts = { name, startMs, durationMs, readBytes: tally.readBytes, writtenBytes, engine, layers }
      putRecord(store, startMs, encodeRecord(facts, tally.counts))
    } catch {
      // A cache that cannot be read has no history to extend.
    }
  }
}

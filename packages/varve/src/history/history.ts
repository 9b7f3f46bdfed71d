/**
 * The records of the last builds: entries of a reserved namespace, one for each build, written by its last commit. So they
 * are as crash-safe, authentic and bounded as all entries. Statistics, exports and seals leave reserved namespaces out.
 */
import type { EngineName, EnginePage, EngineStore } from '../engine/engine.ts'
import { type Key, readKey, writeKey } from '../values/key.ts'
import { type BuildRecord, decodeRecord, encodeRecord, type RecordedRemote } from './record.ts'
import { VarveError } from '../errors.ts'
import { variable } from '../host/permission.ts'
import type { HistoryMode } from '../options.ts'
import type { Tally } from './tally.ts'
import { nowMs } from '../host/now.ts'

/** Names that begin with this belong to Varve; `crates/core` leaves these namespaces out of what it reports. */
export const RESERVED_PREFIX = 'varve:'

const NAME = `${RESERVED_PREFIX}history`
const VERSION = '1'

/** Records that are kept. */
export const RECORDS_MAX = 1000

/** Bytes of one page: all records. */
const PAGE_BYTES = 1 << 20

/** The form of a key: the start of the build in milliseconds, so that keys sort by time, and some random characters. */
const KEY = /^[0-9a-z]{9}-[0-9a-z]{6}$/

/** All records, the newest first. A value of another shape is left out. */
export function readHistory(store: EngineStore): BuildRecord[] {
  const found: BuildRecord[] = []
  for (const [page, index] of placesOf(store)) {
    const record = decodeRecord(page.values, page.valueEnds[index - 1] ?? 0, page.valueEnds[index] ?? 0)
    if (record !== undefined) found.push(record)
  }
  return found.sort((one, other) => other.startMs - one.startMs)
}

/** Buffers the record with this key, and the removal of the oldest ones beyond the limit. */
export function putRecord(store: EngineStore, key: string, encoded: Uint8Array): void {
  const namespace = store.namespace(NAME, VERSION)
  const keys = Array.from(placesOf(store), ([page, index]) =>
    readKey(page.keys, page.keyEnds[index - 1] ?? 0, page.keyEnds[index] ?? 0),
  )
  for (const old of outdated(keys.filter((one) => one !== key))) store.delete(namespace, writeKey(store.scratch, old))
  store.put(namespace, writeKey(store.scratch, key), encoded)
}

/** A new key for a build that began then. */
function recordKey(startMs: number): string {
  const random = Math.random().toString(36).slice(2, 8).padEnd(6, '0')
  return `${startMs.toString(36).padStart(9, '0')}-${random}`
}

/** The keys that make room for one record: those of another form, and the oldest. */
function outdated(keys: readonly Key[]): Key[] {
  const known = keys.filter((key) => isKey(key)).sort()
  const others = keys.filter((key) => !isKey(key))
  return [...others, ...known.slice(0, Math.max(0, known.length - (RECORDS_MAX - 1)))]
}

function isKey(key: Key): boolean {
  return typeof key === 'string' && KEY.test(key)
}

/** Each entry as its page and its index there. */
function* placesOf(store: EngineStore): Generator<[page: EnginePage, index: number]> {
  const namespace = store.namespace(NAME, VERSION)
  for (let cursor: bigint | undefined = 0n; cursor !== undefined;) {
    const page: EnginePage = store.scan(namespace, cursor, PAGE_BYTES)
    for (let index = 0; index < page.keyEnds.length; index++) yield [page, index]
    cursor = page.next
  }
}

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
  readonly engine: EngineName
  readonly tally: Tally
  /** The remote, if there is one. */
  readonly remote: RecordedRemote | null
}

/** The record of one open cache. */
export class Recorder {
  readonly #parts: RecorderParts
  readonly #startMs: number = nowMs()
  readonly #key: string = recordKey(this.#startMs)
  #writtenBytes = 0
  /** Results of the tool that the record counts. */
  #recorded = 0

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  /**
   * Call before each commit. Once the tool has counted a build, each commit that writes entries has the record, in place of the one
   * before: a watching build that is killed has one, too.
   */
  committing(store: EngineStore): void {
    const { mode, tally } = this.#parts
    if (mode !== 'never' && !tally.tool.isEmpty && store.pendingBytes() > 0) this.put(store)
  }

  /** Call after each commit, with the bytes of its entries. */
  committed(batchBytes: number): void {
    this.#writtenBytes += batchBytes
  }

  /** Whether the tool had results of which this build has stored none: `varve doctor` looks for such builds. */
  hasStoredNothing(store: EngineStore): boolean {
    const { hits, misses } = this.#parts.tally.tool
    return hits === 0 && misses > 0 && this.#writtenBytes === 0 && store.pendingBytes() === 0
  }

  /**
   * Whether this build leaves a record when it ends: each build does, or it wrote something that no record counts, or it has stored
   * nothing.
   */
  isDue(store: EngineStore): boolean {
    const { mode, tally } = this.#parts
    if (mode !== 'auto') return mode === 'always'
    if (this.hasStoredNothing(store)) return true
    const isRecorded = this.#recorded > 0 && this.#recorded === tally.tool.count
    return store.pendingBytes() > 0 || (this.#writtenBytes > 0 && !isRecorded)
  }

  /** Buffers the record, in place of an earlier one of this build. */
  put(store: EngineStore): void {
    const { name, engine, tally, remote } = this.#parts
    if (engine === 'none') return // nothing is left for a later build
    const writtenBytes = this.#writtenBytes + store.pendingBytes()
    try {
      const layers = store.status().layers.filter(({ problem }) => problem === null).length
      const startMs = this.#startMs
      const durationMs = Math.max(0, nowMs() - startMs)
      const { readBytes, namespaces } = tally
      const facts = { name, startMs, durationMs, readBytes, writtenBytes, engine, layers, remote, namespaces }
      putRecord(store, this.#key, encodeRecord(facts, tally.counts))
      this.#recorded = tally.tool.count
    } catch {
      // A cache that cannot be read has no history to extend.
    }
  }
}

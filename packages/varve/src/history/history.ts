/**
 * The records of the last builds: entries of a reserved namespace, one for each build, written by its last commit. So they
 * are as crash-safe, authentic and bounded as all entries. Statistics, exports and seals leave reserved namespaces out.
 */
import type { EngineName, EnginePage, EngineStore } from '../engine/engine.ts'
import { type Key, readKey, writeKey, readText } from '../values/bytes.ts'
import { VarveError } from '../errors.ts'
import { variable } from '../host/permission.ts'
import type { HistoryMode } from '../options.ts'
import { type Tally, type Counts, isAmount } from './tally.ts'
import { nowMs } from '../host/own.ts'
import { jsonOf, parseJson } from '../values/json.ts'

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
    const { hits, isEmpty } = this.#parts.tally.tool
    return hits === 0 && !isEmpty && this.#writtenBytes === 0 && store.pendingBytes() === 0
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

// The record of one build: at most 200 bytes of JSON.
//
//   ["webpack", 1795257074727, 8312, 1998, 2, 14200, 5242880, 91022, "native", 1,
//   [2, "modules", "resolve"], "file babel.config.js", 2]
//
//   name, start (ms since 1970), duration (ms), hits, misses, time saved (ms), bytes read, bytes written, engine,
//   layers, or [layers, layers of the remote, bytes fetched from it],
//   number of namespaces and the names of those used most, then the most frequent reasons of misses with their counts
//
// Other users of a directory can write to it, so a value of another shape is not a record.

/** What one build did with a cache, from `openCache` to `close`. */
export interface BuildRecord {
  /** Name of the tool: option `name` of `openCache`, its first 40 characters. */
  readonly name: string
  /** When the cache was opened, in milliseconds since 1970. */
  readonly startMs: number
  /** Milliseconds until it was closed. */
  readonly durationMs: number
  /** Results from the cache: as the tool counted them, otherwise runs of tasks, otherwise lookups of namespaces. */
  readonly hits: number
  /** Results that the build made. */
  readonly misses: number
  /** Number of misses by reason: as many of the most frequent reasons as fit into the record. */
  readonly reasons: Readonly<Record<string, number>>
  /** Milliseconds that the results of the hits took when they were made; 0 also if that is unknown. */
  readonly savedMs: number
  /** Bytes of the values that were read. */
  readonly readBytes: number
  /** Bytes of the entries that were committed, before compression. */
  readonly writtenBytes: number
  readonly engine: 'native' | 'wasm'
  /** Number of layers below the cache. */
  readonly layers: number
  /** Names of the namespaces that were used most, at most 3 and as many as fit, each its first 24 characters; `task:<name>` for a task. */
  readonly namespaces: readonly string[]
  /** Number of all namespaces that were used, a task counting as one. */
  readonly namespaceCount: number
  /** What the [remote](remote.md) gave when the cache was opened; null without one. */
  readonly remote: RecordedRemote | null
}

/** A remote in the record of a build. */
export interface RecordedRemote {
  /** Number of its layers. */
  readonly layers: number
  /** Bytes that were fetched because they were not on this machine. */
  readonly fetchedBytes: number
}

/** Most bytes of a record. */
export const RECORD_BYTES_MAX = 200

/** Characters of a name, and of a reason, that are kept. */
const NAME_MAX = 40
const REASON_MAX = 110

/** Namespaces that are named, and the characters of each that are kept. All names together leave room for a reason. */
const NAMESPACES_MAX = 3
const NAMESPACE_MAX = 24
const NAMESPACES_BYTES_MAX = 52

/** Characters that a longer reason keeps at least, and by which it is cut. */
const REASON_MIN = 30
const CUT = 5

type Field = string | number | readonly (string | number)[]

const encoder = new TextEncoder()

/** What is known of a build besides its counts. */
export interface BuildFacts extends Omit<BuildRecord, keyof Counts | 'namespaceCount'> {
  /** All of them, those used most first. */
  readonly namespaces: readonly string[]
}

export function encodeRecord(facts: BuildFacts, { hits, misses, savedMs, reasons }: Counts): Uint8Array {
  const { name, startMs, durationMs, readBytes, writtenBytes, engine, layers, remote } = facts
  const numbers = [startMs, durationMs, hits, misses, savedMs, readBytes, writtenBytes].map(Math.round)
  const below = remote === null ? layers : [layers, remote.layers, remote.fetchedBytes]
  const head: Field[] = [cut(name, NAME_MAX), ...numbers, engine, below]
  const fields = [...head, namespacesWith(head, facts.namespaces)]
  const frequent = [...reasons].sort(([, one], [, other]) => other - one)
  let encoded = encode(fields)
  for (const [reason, count] of frequent) {
    const longer = withReason(fields, reason, count)
    if (longer === undefined) break
    encoded = longer
  }
  return encoded
}

/** The number of namespaces, and as many of their names as fit. */
function namespacesWith(head: readonly Field[], names: readonly string[]): readonly (string | number)[] {
  let list: readonly (string | number)[] = [names.length]
  for (const name of names.slice(0, NAMESPACES_MAX)) {
    const longer = [...list, cut(name, NAMESPACE_MAX)]
    if (encode(longer).length > NAMESPACES_BYTES_MAX || encode([...head, longer]).length > RECORD_BYTES_MAX) break
    list = longer
  }
  return list
}

/** The first characters of a text, without half a character at its end. */
function cut(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')
}

function encode(fields: readonly Field[]): Uint8Array {
  return encoder.encode(jsonOf(fields))
}

/** Adds a reason, of which the record has as many characters as fit; undefined if only a few do. */
function withReason(fields: Field[], reason: string, count: number): Uint8Array | undefined {
  const base = fields.length
  for (let length = Math.min(reason.length, REASON_MAX); length > 0; length -= CUT) {
    const text = length < reason.length ? `${cut(reason, length)}…` : reason
    fields.splice(base, 2, text, count)
    const encoded = encode(fields)
    if (encoded.length <= RECORD_BYTES_MAX) return encoded
    if (length < REASON_MIN + CUT) break
  }
  fields.splice(base, 2)
  return undefined
}

/** The record in source[start, end); undefined if there is none. */
export function decodeRecord(source: Uint8Array, start: number, end: number): BuildRecord | undefined {
  let value: unknown
  try {
    value = end - start > RECORD_BYTES_MAX ? undefined : parseJson(readText(source, start, end))
  } catch {
    return undefined
  }
  if (!Array.isArray(value)) return undefined
  const [
    name,
    startMs,
    durationMs,
    hits,
    misses,
    savedMs,
    readBytes,
    writtenBytes,
    engine,
    below,
    used,
    ...rest
  ]: unknown[] = value
  const layersFound = layersIn(below)
  const namespacesFound = namespacesIn(used)
  if (typeof name !== 'string' || (engine !== 'native' && engine !== 'wasm')) return undefined
  if (!isAmount(startMs) || !isAmount(durationMs) || !isAmount(hits) || !isAmount(misses) || !isAmount(savedMs))
    return undefined
  if (!isAmount(readBytes) || !isAmount(writtenBytes) || layersFound === undefined || namespacesFound === undefined)
    return undefined
  const reasons = reasonsIn(rest)
  const counts = { hits, misses, reasons: reasons ?? {}, savedMs, readBytes, writtenBytes }
  return reasons && { name, startMs, durationMs, ...counts, engine, ...layersFound, ...namespacesFound }
}

/** The layers below the cache, and the remote. */
function layersIn(below: unknown): Pick<BuildRecord, 'layers' | 'remote'> | undefined {
  if (isAmount(below)) return { layers: below, remote: null }
  if (!Array.isArray(below)) return undefined
  const [all, layers, fetchedBytes]: unknown[] = below
  return isAmount(all) && isAmount(layers) && isAmount(fetchedBytes)
    ? { layers: all, remote: { layers, fetchedBytes } }
    : undefined
}

/** The number of namespaces, then the names of some. */
function namespacesIn(used: unknown): Pick<BuildRecord, 'namespaces' | 'namespaceCount'> | undefined {
  if (!Array.isArray(used)) return undefined
  const [namespaceCount, ...namespaces]: unknown[] = used
  const areNames = namespaces.every((name): name is string => typeof name === 'string')
  return isAmount(namespaceCount) && areNames && namespaces.length <= namespaceCount
    ? { namespaces, namespaceCount }
    : undefined
}

/** Names and counts in turn. */
function reasonsIn(rest: readonly unknown[]): Readonly<Record<string, number>> | undefined {
  const found: [string, number][] = []
  for (let index = 0; index < rest.length; index += 2) {
    const reason = rest[index]
    const count = rest[index + 1]
    if (typeof reason !== 'string' || !isAmount(count)) return undefined
    found.push([reason, count])
  }
  return Object.fromEntries(found)
}

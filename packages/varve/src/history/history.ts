/**
 * The records of the last builds: entries of a reserved namespace, one for each build, written by its last commit. So they
 * are as crash-safe, authentic and bounded as all entries. Statistics, exports and seals leave reserved namespaces out.
 */
import type { EnginePage, EngineStore } from '../engine/engine.ts'
import { type Key, readKey, writeKey } from '../values/key.ts'
import { type BuildRecord, decodeRecord } from './record.ts'

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
export function recordKey(startMs: number): string {
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

/**
 * Entries of a process that can start no engine, such as one without WebAssembly: maps in the memory of this thread. Lookups, puts and tasks
 * work. Files, archives, exports and layers need an engine and reject with ENGINE_UNAVAILABLE.
 */
import type {
  CommitReport,
  CompactReport,
  Damage,
  Engine,
  EngineChunk,
  EngineCommit,
  EngineFiles,
  EngineImport,
  EngineKeys,
  EngineOptions,
  EnginePage,
  EngineStatus,
  EngineStore,
  EngineSums,
  EngineValues,
  NamespaceStats,
  RepairReport,
  SealReport,
  Stats,
  TopItem,
  VerifyReport,
} from './engine.ts'
import { EngineFailure } from './answers.ts'
import type { VarveError } from '../errors.ts'
import { FORMAT_FOLDER } from '../host/format.ts'

const MISS = -1
const SCRATCH_BYTES = 128 * 1024

/** Longest value, as under WebAssembly. */
const VALUE_BYTES_MAX = 64 << 20

/** Values by the bytes of their keys. */
type Entries = ReadonlyMap<string, Uint8Array>

const NO_ENTRIES: Entries = new Map()

/** One cache of this thread: opening its path again finds what was committed. */
class CommittedEntries {
  readonly #namespaces: Map<string, { readonly version: string; readonly entries: Map<string, Uint8Array> }> = new Map()
  #bytes = 0

  of({ name, version }: OpenNamespace): Entries {
    const found = this.#namespaces.get(name)
    return found?.version === version ? found.entries : NO_ENTRIES
  }

  /** Adds what a namespace has buffered; entries of another version go. */
  add({ name, version, buffered }: OpenNamespace): void {
    const found = this.#namespaces.get(name)
    const entries = found?.version === version ? found.entries : new Map<string, Uint8Array>()
    this.#namespaces.set(name, { version, entries })
    for (const [key, value] of buffered) {
      if (value === undefined) entries.delete(key)
      else entries.set(key, value)
    }
  }

  /** Makes room: entries of earlier commits go if there would be more than `bytesMax` bytes. */
  admit(bytes: number, bytesMax: number): void {
    if (this.#bytes + bytes > bytesMax) {
      this.#namespaces.clear()
      this.#bytes = 0
    }
    this.#bytes += bytes
  }
}

const caches: Map<string, CommittedEntries> = new Map()

/** The engine of a process that has none; `cause` is why. */
export function withoutEngine(cause: VarveError): Engine<'none'> {
  return {
    name: 'none',
    folderName: () => FORMAT_FOLDER,
    open: async (directory, options) => {
      const committed = caches.get(directory) ?? new CommittedEntries()
      caches.set(directory, committed)
      return new MapStore(committed, options, cause)
    },
  }
}

interface OpenNamespace {
  readonly name: string
  readonly version: string
  /** Undefined = deleted. */
  readonly buffered: Map<string, Uint8Array | undefined>
}

class MapStore implements EngineStore {
  readonly scratch: Uint8Array = new Uint8Array(SCRATCH_BYTES)
  readonly #committed: CommittedEntries
  readonly #options: EngineOptions
  readonly #cause: VarveError
  readonly #open: OpenNamespace[] = []
  #found: Uint8Array | undefined
  #pendingEntries = 0
  #pendingBytes = 0

  constructor(committed: CommittedEntries, options: EngineOptions, cause: VarveError) {
    this.#committed = committed
    this.#options = options
    this.#cause = cause
  }

  namespace(name: string, version: string): number {
    const known = this.#open.findIndex((one) => one.name === name && one.version === version)
    if (known !== -1) return known
    return this.#open.push({ name, version, buffered: new Map() }) - 1
  }

  get(namespace: number, keyBytes: number, target: Uint8Array, start: number): number {
    return this.#write(this.#value(namespace, textOf(this.scratch, 0, keyBytes)), target, start)
  }

  read(target: Uint8Array): number {
    if (this.#found?.length === target.length) target.set(this.#found)
    return this.#found?.length ?? MISS
  }

  has(namespace: number, keyBytes: number): boolean {
    return this.#value(namespace, textOf(this.scratch, 0, keyBytes)) !== undefined
  }

  put(namespace: number, keyBytes: number, value: Uint8Array): void {
    if (value.length > VALUE_BYTES_MAX) {
      const text = `the value has ${value.length} bytes, the limit is ${VALUE_BYTES_MAX}; split it`
      throw new EngineFailure('VALUE_TOO_LONG', text)
    }
    this.#buffer(namespace, keyBytes, new Uint8Array(value))
  }

  putWithBlobs(): void {
    throw this.#unavailable('files')
  }

  delete(namespace: number, keyBytes: number): void {
    this.#buffer(namespace, keyBytes, undefined)
  }

  getMany(
    namespace: number,
    keys: Uint8Array,
    keyEnds: Uint32Array,
    first: number,
    target: Uint8Array,
    start: number,
    lengths: Int32Array,
  ): number {
    let at = start
    for (let index = first; index < keyEnds.length; index++) {
      const length = this.#write(this.#value(namespace, keyIn(keys, keyEnds, index)), target, at)
      lengths[index] = length
      if (at + length > target.length) return index
      at = (at + Math.max(0, length) + 7) & ~7
    }
    return keyEnds.length
  }

  getManyAtOnce(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): EngineValues {
    const values = Array.from(keyEnds, (_, index) => this.#value(namespace, keyIn(keys, keyEnds, index)))
    const lengths = Int32Array.from(values, (value) => value?.length ?? MISS)
    return { values: joined(values.filter((value) => value !== undefined)), lengths }
  }

  revision(): number {
    return 0 // no other thread commits to these maps
  }

  async getManyAsync(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): Promise<EngineValues> {
    return this.getManyAtOnce(namespace, keys, keyEnds)
  }

  /** One page has all entries: they are in memory anyway. */
  scan(namespace: number): EnginePage {
    const found = [...this.#visible(this.#at(namespace))]
    const keys = found.map(([key]) => bytesOf(key))
    const values = found.map(([, value]) => value)
    return {
      keys: joined(keys),
      keyEnds: endsOf(keys),
      values: joined(values),
      valueEnds: endsOf(values),
      next: undefined,
    }
  }

  scanKeys(): EngineKeys {
    throw this.#unavailable('a listing of keys')
  }

  scanFolders(): EngineSums {
    throw this.#unavailable('a listing of folders')
  }

  async files(): Promise<EngineFiles> {
    throw this.#unavailable('files')
  }

  pendingBytes(): number {
    return this.#pendingBytes
  }

  pendingEntries(): number {
    return this.#pendingEntries
  }

  commit(): EngineCommit {
    this.#checkWritable()
    const batchBytes = this.#pendingBytes
    const entries = this.#pendingEntries
    this.#committed.admit(batchBytes, this.#options.maxBytes)
    for (const namespace of this.#open) {
      if (namespace.buffered.size === 0) continue
      this.#committed.add(namespace)
      namespace.buffered.clear()
    }
    this.#pendingBytes = 0
    this.#pendingEntries = 0
    return { report: { entries, bytes: 0, maintenanceDue: false }, batchBytes, damageCount: 0 }
  }

  async flush(): Promise<void> {
    // There is no disk to wait for.
  }

  beginExport(): number {
    throw this.#unavailable('an export')
  }

  exportChunk(): EngineChunk {
    throw this.#unavailable('an export')
  }

  beginImport(): number {
    throw this.#unavailable('an import')
  }

  feedImport(): EngineImport {
    throw this.#unavailable('an import')
  }

  finishImport(): void {
    throw this.#unavailable('an import')
  }

  async commitImport(): Promise<CommitReport | undefined> {
    throw this.#unavailable('an import')
  }

  endTransfer(): void {
    // None begins.
  }

  refresh(): boolean {
    return false
  }

  async compact(): Promise<CompactReport> {
    this.#checkWritable()
    const none = { logsCheckpointed: 0, tablesMerged: 0, tablesWritten: 0, entriesDropped: 0, blobsRemoved: 0 }
    return { changed: false, ...none, bytesBefore: 0, bytesAfter: 0, foreignFiles: [] }
  }

  async stats(): Promise<Stats> {
    const none = { manifest: 0, files: 0, bytes: 0, tables: 0, tableBytes: 0, logs: 0, logBytes: 0 }
    return { ...none, blobs: 0, blobBytes: 0, namespaces: this.#open.map((one) => this.#statsOf(one)), layers: [] }
  }

  async top(): Promise<readonly TopItem[]> {
    throw this.#unavailable('an order of entries')
  }

  async verify(): Promise<VerifyReport> {
    const entries = this.#open.reduce((sum, one) => sum + this.#committed.of(one).size, 0)
    return { sound: true, files: 0, bytes: 0, entries, damage: [] }
  }

  async repair(): Promise<RepairReport> {
    this.#checkWritable()
    const { entries } = await this.verify()
    const none = { damage: [], unrecoverable: false, quarantined: [], remaining: [], foreignFiles: [] }
    return { sound: true, ...none, entriesBefore: entries, entriesAfter: entries }
  }

  async seal(): Promise<SealReport> {
    throw this.#unavailable('a layer')
  }

  damageCount(): number {
    return 0
  }

  status(): EngineStatus {
    return {
      readOnly: this.#options.readOnly,
      authenticated: false,
      writer: null,
      manifest: 0,
      layers: [],
      damage: [],
    }
  }

  async close(): Promise<readonly Damage[]> {
    return []
  }

  #at(namespace: number): OpenNamespace {
    const found = this.#open[namespace]
    if (found === undefined) throw new EngineFailure('INVALID_ARGUMENT', `there is no namespace ${namespace}`)
    return found
  }

  #value(namespace: number, key: string): Uint8Array | undefined {
    const open = this.#at(namespace)
    return open.buffered.has(key) ? open.buffered.get(key) : this.#committed.of(open).get(key)
  }

  *#visible(open: OpenNamespace): IterableIterator<readonly [string, Uint8Array]> {
    for (const [key, value] of this.#committed.of(open)) if (!open.buffered.has(key)) yield [key, value]
    for (const [key, value] of open.buffered) if (value !== undefined) yield [key, value]
  }

  /** Writes a value that fits, and keeps it for `read`. Returns its length. */
  #write(value: Uint8Array | undefined, target: Uint8Array, start: number): number {
    this.#found = value
    if (value !== undefined && start + value.length <= target.length) target.set(value, start)
    return value?.length ?? MISS
  }

  #buffer(namespace: number, keyBytes: number, value: Uint8Array | undefined): void {
    const { buffered } = this.#at(namespace)
    buffered.set(textOf(this.scratch, 0, keyBytes), value)
    this.#pendingEntries++
    this.#pendingBytes += keyBytes + (value?.length ?? 0)
  }

  #statsOf(open: OpenNamespace): NamespaceStats {
    const committed = this.#committed.of(open)
    let keyBytes = 0
    let valueBytes = 0
    for (const [key, value] of committed) {
      keyBytes += key.length
      valueBytes += value.length
    }
    const { name, version } = open
    const unknown = {
      blobBytes: 0,
      neverUsedEntries: 0,
      neverUsedBytes: 0,
      tables: 0,
      tableBytes: 0,
      oldestMs: 0,
      newestMs: 0,
    }
    return { name, version, entries: committed.size, keyBytes, valueBytes, ...unknown }
  }

  #checkWritable(): void {
    if (this.#options.readOnly) throw new EngineFailure('READ_ONLY', 'the cache was opened with readOnly: true')
  }

  #unavailable(what: string): EngineFailure {
    const text = `this process has no engine for ${what}: ${this.#cause.message}`
    return new EngineFailure('ENGINE_UNAVAILABLE', text, { cause: this.#cause })
  }
}

/** One character for each byte. */
function textOf(bytes: Uint8Array, start: number, end: number): string {
  let text = ''
  for (let index = start; index < end; index++) text += String.fromCharCode(bytes[index] ?? 0)
  return text
}

function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index)
  return bytes
}

function keyIn(keys: Uint8Array, keyEnds: Uint32Array, index: number): string {
  return textOf(keys, keyEnds[index - 1] ?? 0, keyEnds[index] ?? 0)
}

function endsOf(parts: readonly Uint8Array[]): Uint32Array {
  let end = 0
  return Uint32Array.from(parts, ({ length }) => (end += length))
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let start = 0
  for (const part of parts) {
    all.set(part, start)
    start += part.length
  }
  return all
}

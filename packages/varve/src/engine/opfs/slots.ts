/**
 * The files of a cache in the origin private file system of a browser: slots, which are open all the time and contain their names. Free ones
 * are kept ready, because a file has to be created without waiting:
 *
 *   reserve()   after each call of the engine that may create files: opens and empties slots until enough are free
 *   createNew   takes a free slot; without one it fails like a process without descriptors, and the call is repeated
 *   remove      frees a slot once no open file uses it; the next `reserve` empties it
 *
 * A slot can be open once in a browser. So the directory belongs to one worker, and a cache elsewhere in the browser is in memory.
 */
import type { Host } from '../../../generated/varve_wasm.js'
import { nowUs, EXISTS, FULL, INVALID, NO_SPACE, NOT_FOUND, UNSUPPORTED } from '../host.ts'
import { nowMs } from '../../host/own.ts'

/** The types of this method are those of workers, and only dedicated workers have it. */
interface SyncFile extends FileSystemFileHandle {
  createSyncAccessHandle?(): Promise<SyncAccess>
}

const SLOT = /^slot-\d+$/
/** Free slots at least: a log, a manifest and its temporary name, a few tables. */
const FREE_MIN = 8
/** A slot that another worker has just left may still be open for a moment. */
const TRIES = 5
const PAUSE_MS = 40

/** Directories that this worker has open. */
const opened = new Map<string, Promise<Slots>>()

export class Slots {
  readonly #path: string
  readonly #directory: FileSystemDirectoryHandle
  /** Slots by the name of their file, relative to the directory of the cache. */
  readonly #named = new Map<string, Slot>()
  readonly #open = new Map<number, Slot>()
  readonly #free: Slot[] = []
  /** Slots without a name that still have content. */
  readonly #freed: Slot[] = []
  /** Slots whose name is not durable yet. */
  readonly #renamed = new Set<Slot>()
  #count = 0
  #stamp = 0
  #file = 0
  #wanted = FREE_MIN
  #users = 0

  private constructor(path: string, directory: FileSystemDirectoryHandle) {
    this.#path = path
    this.#directory = directory
  }

  /** The slots of a directory; they belong to this worker until each caller has called `close`. Rejects if another worker has them. */
  static async open(path: string): Promise<Slots> {
    const opening = opened.get(path) ?? Slots.#begin(path)
    opened.set(path, opening)
    try {
      const slots = await opening
      slots.#users++
      return slots
    } catch (error) {
      opened.delete(path)
      throw error
    }
  }

  static async #begin(path: string): Promise<Slots> {
    let directory = await navigator.storage.getDirectory()
    for (const name of path.split('/'))
      if (name !== '') directory = await directory.getDirectoryHandle(name, { create: true })
    const slots = new Slots(path, directory)
    const names: string[] = []
    for await (const name of directory.keys()) if (SLOT.test(name)) names.push(name)
    try {
      for (const name of names) slots.#found(new Slot(await accessTo(directory, name)))
      slots.#count = Math.max(0, ...names.map((name) => Number(name.slice('slot-'.length)) + 1))
      for (const slot of slots.#freed) if (slot.record.name !== '') slots.#name(slot, '', 0)
      await slots.reserve()
      return slots
    } catch (error) {
      slots.#closeAll()
      throw error
    }
  }

  /** Whether no slot is free, so that creating a file fails. The next `reserve` then keeps twice as many free. */
  get isShort(): boolean {
    return this.#free.length === 0
  }

  async reserve(): Promise<void> {
    if (this.isShort && this.#count > 0) this.#wanted *= 2
    for (let slot = this.#freed.pop(); slot !== undefined; slot = this.#freed.pop()) {
      slot.empty()
      this.#free.push(slot)
    }
    // A compaction may write as many files as it reads.
    while (this.#free.length < Math.max(this.#wanted, this.#named.size)) {
      const slot = new Slot(await accessTo(this.#directory, `slot-${this.#count++}`))
      slot.empty()
      this.#free.push(slot)
    }
  }

  close(): void {
    if (--this.#users > 0) return
    opened.delete(this.#path)
    this.#closeAll()
  }

  /** The files of directory `below`. */
  host(below: string): Host {
    const pathOf = (name: string): string => `${below}/${name}`
    return {
      list: () =>
        this.#namesIn(below)
          .filter((name) => !name.includes('/'))
          .join('\0'),
      folders: () =>
        [
          ...new Set(
            this.#namesIn(below)
              .filter((name) => name.includes('/'))
              .map((name) => name.replace(/\/.*/s, '')),
          ),
        ].join('\0'),
      open: (name) => this.#opened(this.#named.get(pathOf(name))),
      createNew: (name) => this.#create(pathOf(name)),
      stat: (name, target) => statInto(this.#named.get(pathOf(name)), target),
      link: () => UNSUPPORTED,
      rename: (source, target) => this.#rename(pathOf(source), pathOf(target)),
      remove: (name) => this.#remove(pathOf(name)),
      folder: (name) => this.host(pathOf(name)),
      syncFolder: () => attempt(() => this.#syncNames()),
      size: (file) => this.#open.get(file)?.size ?? INVALID,
      read: (file, offset, target) => attempt(() => this.#open.get(file)?.read(offset, target) ?? INVALID),
      append: (file, bytes) => this.#onOpen(file, (slot) => slot.append(bytes)),
      sync: (file) => this.#onOpen(file, (slot) => slot.flush()),
      close: (file) => this.#close(file),
      now: nowUs,
    }
  }

  #namesIn(below: string): string[] {
    return [...this.#named.keys()]
      .filter((name) => name.startsWith(`${below}/`))
      .map((name) => name.slice(below.length + 1))
  }

  /** A slot that was there when the directory was opened. */
  #found(slot: Slot): void {
    const { name, stamp, id } = slot.record
    this.#stamp = Math.max(this.#stamp, stamp, id)
    const other = this.#named.get(name)
    if (name === '' || (other !== undefined && other.record.stamp > stamp)) return void this.#freed.push(slot)
    if (other !== undefined) this.#freed.push(other)
    this.#named.set(name, slot)
  }

  #opened(slot: Slot | undefined): number {
    if (slot === undefined) return NOT_FOUND
    slot.uses++
    this.#open.set(++this.#file, slot)
    return this.#file
  }

  #create(name: string): number {
    if (this.#named.has(name)) return EXISTS
    const slot = this.#free.pop()
    if (slot === undefined) return FULL
    const created = attempt(() => this.#name(slot, name, this.#stamp + 1))
    if (created < 0) this.#free.push(slot)
    return created < 0 ? created : this.#opened(slot)
  }

  #rename(source: string, target: string): number {
    const slot = this.#named.get(source)
    if (slot === undefined) return NOT_FOUND
    const replaced = this.#named.get(target)
    return attempt(() => {
      if (source === target) return 0
      this.#name(slot, target, slot.record.id)
      this.#named.delete(source)
      if (replaced !== undefined) this.#release(replaced)
      return 0
    })
  }

  #remove(name: string): number {
    const slot = this.#named.get(name)
    if (slot === undefined) return NOT_FOUND
    return attempt(() => {
      this.#release(slot)
      this.#named.delete(name)
      return 0
    })
  }

  #name(slot: Slot, name: string, id: number): number {
    slot.write({ name, stamp: ++this.#stamp, id, changedMs: nowMs() })
    if (name !== '') this.#named.set(name, slot)
    this.#renamed.add(slot)
    return 0
  }

  /** Takes the name of a slot, which others may still read. */
  #release(slot: Slot): void {
    this.#name(slot, '', 0)
    if (slot.uses === 0) this.#freed.push(slot)
  }

  #close(file: number): void {
    const slot = this.#open.get(file)
    if (slot === undefined) return
    this.#open.delete(file)
    if (--slot.uses === 0 && slot.record.name === '') this.#freed.push(slot)
  }

  #onOpen(file: number, call: (slot: Slot) => void): number {
    const slot = this.#open.get(file)
    if (slot === undefined) return INVALID
    return attempt(() => {
      call(slot)
      return 0
    })
  }

  #syncNames(): number {
    for (const slot of this.#renamed) slot.flush()
    this.#renamed.clear()
    return 0
  }

  #closeAll(): void {
    for (const slot of new Set([...this.#named.values(), ...this.#free, ...this.#freed, ...this.#open.values()]))
      slot.close()
  }
}

async function accessTo(directory: FileSystemDirectoryHandle, name: string): Promise<SyncAccess> {
  const file: SyncFile = await directory.getFileHandle(name, { create: true })
  for (let tries = 1; ; tries++) {
    try {
      const access = await file.createSyncAccessHandle?.()
      if (access === undefined) throw new DOMException('only dedicated workers can use its files', 'NotSupportedError')
      return access
    } catch (error) {
      const isOpen = error instanceof DOMException && error.name === 'NoModificationAllowedError'
      if (!isOpen || tries === TRIES) throw error
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}

function statInto(slot: Slot | undefined, target: Float64Array): number {
  if (slot === undefined) return 0
  const { id, changedMs } = slot.record
  target.set([id, slot.size, changedMs])
  return 1
}

function attempt(run: () => number): number {
  try {
    return run()
  } catch (error) {
    return error instanceof DOMException && error.name === 'QuotaExceededError' ? NO_SPACE : INVALID
  }
}

// A file of the engine in the origin private file system of a browser. Only reading and writing an open file is synchronous there:
// opening, renaming and removing one is not. So the engine's files are slots, which are open all the time and contain their names:
//
//   slot-<n>   | record 0 | record 1 | ... zeros | content, from byte 4096 on |
//   record     | checksum: u32 | name bytes: u32 | stamp: f64 | id: f64 | changed ms: f64 | name, UTF-8 | 512 bytes in all
//
//   1. The valid record with the higher stamp counts. An empty name is that of a free slot.
//   2. Writing a name replaces the other record, so a torn write leaves the name that the slot had.
//   3. Of two slots with one name, the one with the higher stamp has it. So one write renames a file onto another.

/** What is used of `FileSystemSyncAccessHandle`, whose types are those of workers. */
export interface SyncAccess {
  read(target: Uint8Array, options: { at: number }): number
  write(bytes: Uint8Array, options: { at: number }): number
  truncate(size: number): void
  getSize(): number
  flush(): void
  close(): void
}

export interface SlotRecord {
  readonly name: string
  readonly stamp: number
  /** Identity of the file, whatever its name is. */
  readonly id: number
  readonly changedMs: number
}

const CONTENT_AT = 4096
const RECORD_BYTES = 512
const HEAD_BYTES = 32

const NONE: SlotRecord = { name: '', stamp: 0, id: 0, changedMs: 0 }

export class Slot {
  readonly #access: SyncAccess
  #records: readonly [SlotRecord, SlotRecord]
  #size: number
  /** Open files of the engine that are this slot. */
  uses = 0

  constructor(access: SyncAccess) {
    this.#access = access
    this.#records = [readRecord(access, 0), readRecord(access, 1)]
    this.#size = Math.max(0, access.getSize() - CONTENT_AT)
  }

  get record(): SlotRecord {
    const [first, second] = this.#records
    return first.stamp > second.stamp ? first : second
  }

  get size(): number {
    return this.#size
  }

  /** Gives the slot another name; '' frees it. It is durable after `flush`. */
  write(record: SlotRecord): void {
    const [first, second] = this.#records
    const index = first.stamp > second.stamp ? 1 : 0
    this.#write(encode(record), index * RECORD_BYTES)
    this.#records = index === 0 ? [record, second] : [first, record]
  }

  /** Removes the content of a slot without a name, which is durable first: no name ever has another content. */
  empty(): void {
    this.#access.flush()
    this.#access.truncate(CONTENT_AT)
    this.#access.flush()
    this.#size = 0
  }

  read(offset: number, target: Uint8Array): number {
    if (offset >= this.#size) return 0
    return this.#access.read(target.subarray(0, this.#size - offset), { at: CONTENT_AT + offset })
  }

  append(bytes: Uint8Array): void {
    this.#write(bytes, CONTENT_AT + this.#size)
    this.#size += bytes.length
  }

  #write(bytes: Uint8Array, at: number): void {
    const written = this.#access.write(bytes, { at })
    if (written < bytes.length)
      throw new DOMException(`${written} of ${bytes.length} bytes were written`, 'QuotaExceededError')
  }

  flush(): void {
    this.#access.flush()
  }

  close(): void {
    this.#access.close()
  }
}

function encode({ name, stamp, id, changedMs }: SlotRecord): Uint8Array {
  const text = new TextEncoder().encode(name)
  if (text.length > RECORD_BYTES - HEAD_BYTES) throw new RangeError(`the name of a file has ${text.length} bytes`)
  const bytes = new Uint8Array(RECORD_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint32(4, text.length, true)
  for (const [index, number] of [stamp, id, changedMs].entries()) view.setFloat64(8 + 8 * index, number, true)
  bytes.set(text, HEAD_BYTES)
  view.setUint32(0, checksum(bytes), true)
  return bytes
}

/** The record of this index; one without a name and with stamp 0 if it is not valid. */
function readRecord(access: SyncAccess, index: number): SlotRecord {
  const bytes = new Uint8Array(RECORD_BYTES)
  const view = new DataView(bytes.buffer)
  if (access.read(bytes, { at: index * RECORD_BYTES }) < RECORD_BYTES || view.getUint32(0, true) !== checksum(bytes))
    return NONE
  const length = view.getUint32(4, true)
  if (length > RECORD_BYTES - HEAD_BYTES) return NONE
  const name = new TextDecoder().decode(bytes.subarray(HEAD_BYTES, HEAD_BYTES + length))
  return { name, stamp: view.getFloat64(8, true), id: view.getFloat64(16, true), changedMs: view.getFloat64(24, true) }
}

/** FNV-1a of all bytes after the checksum itself, which is never 0, as an empty file is. */
function checksum(record: Uint8Array): number {
  let hash = 0x811c9dc5
  for (const byte of record.subarray(4)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0 || 1
}

/**
 * A file of the engine in the origin private file system of a browser. Only reading and writing an open file is synchronous there:
 * opening, renaming and removing one is not. So the engine's files are slots, which are open all the time and contain their names:
 *
 *   slot-<n>   | record 0 | record 1 | ... zeros | content, from byte 4096 on |
 *   record     | checksum: u32 | name bytes: u32 | stamp: f64 | id: f64 | changed ms: f64 | name, UTF-8 | 512 bytes in all
 *
 *   1. The valid record with the higher stamp counts. An empty name is that of a free slot.
 *   2. Writing a name replaces the other record, so a torn write leaves the name that the slot had.
 *   3. Of two slots with one name, the one with the higher stamp has it. So one write renames a file onto another.
 */

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

/**
 * An entry's bytes: what must be known before the value may be used, then the value as webpack serialised it.
 *
 *   u8 kind | u8[8] environment | u16 length of the etag (0xffff: none) | etag as UTF-8 | payload
 *
 * Kind 1: the payload is one stream. Kind 2: webpack left parts of it lazy; the payload is a list, which is a u32 count
 * and, for each part, a u32 length with that many bytes, or 0xffffffff followed by the list that the lazy part gave.
 */
import type { Compiler } from 'webpack'

/** webpack's serialiser, the public one that makes buffers. Its types promise promises; most answers are there at once. */
export type Serializer = Compiler['webpack']['util']['serialization']['buffersSerializer']

/** What webpack compares entries by, next to their identifier. */
export interface Etag {
  toString(): string
}

/** What webpack's serialiser makes of a value: bytes, and functions that give more of them. */
export type Part = Buffer | (() => Part[] | Promise<Part[]>)

/** The same with every function called. */
type Resolved = Buffer | Resolved[]

const STREAM = 1
const LIST = 2
const ENVIRONMENT_BYTES = 8
const HEADER_BYTES = 1 + ENVIRONMENT_BYTES + 2
const NO_ETAG = 0xffff
const LAZY = 0xffffffff

/** Serialised values keep no state between each other. */
const CONTEXT = {}

/**
 * The entry of a value; undefined where webpack declares it not to be serialisable. Throws where serialising fails.
 * `environment` has 8 Latin-1 characters.
 */
export function encodeValue(
  serializer: Serializer,
  environment: string,
  etag: Etag | null,
  data: object,
): Buffer | undefined | Promise<Buffer | undefined> {
  const parts: Part[] | null | Promise<Part[] | null> = serializer.serialize(data, CONTEXT)
  if (parts instanceof Promise) return parts.then((ready) => joinParts(headerOf(environment, etag), ready))
  return joinParts(headerOf(environment, etag), parts)
}

/** The environment that an entry was made in; undefined where these bytes are no entry. */
export function environmentOf(entry: Buffer): string | undefined {
  if (entry.length < HEADER_BYTES || (entry[0] !== STREAM && entry[0] !== LIST)) return undefined
  return entry.toString('latin1', 1, 1 + ENVIRONMENT_BYTES)
}

/** The value, or a promise of it; undefined where it was stored with another etag. Throws where it cannot be restored. */
export function decodeValue(serializer: Serializer, entry: Buffer, etag: Etag | null): unknown {
  const etagBytes = entry.readUInt16LE(1 + ENVIRONMENT_BYTES)
  const start = etagBytes === NO_ETAG ? HEADER_BYTES : HEADER_BYTES + etagBytes
  const stored = etagBytes === NO_ETAG ? null : entry.toString('utf8', HEADER_BYTES, start)
  if (stored !== textOf(etag)) return undefined
  const payload = entry.subarray(start)
  return serializer.deserialize(entry[0] === STREAM ? [payload] : readList(payload, 0).parts, CONTEXT)
}

/** Etags compare by what they say; webpack computes that when asked, and it may be a hash over a whole source. */
export function textOf(etag: Etag | null): string | null {
  return etag === null ? null : etag.toString()
}

/** The same bytes as webpack takes them. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function headerOf(environment: string, etag: Etag | null): Buffer {
  const text = textOf(etag)
  const etagBytes = text === null ? 0 : Buffer.byteLength(text)
  if (etagBytes >= NO_ETAG) throw new RangeError(`an etag of ${etagBytes} bytes is too long`)
  const header = Buffer.allocUnsafe(HEADER_BYTES + etagBytes)
  header[0] = STREAM
  header.write(environment, 1, 'latin1')
  header.writeUInt16LE(text === null ? NO_ETAG : etagBytes, 1 + ENVIRONMENT_BYTES)
  if (text !== null) header.write(text, HEADER_BYTES)
  return header
}

function joinParts(header: Buffer, parts: readonly Part[] | null): Buffer | undefined | Promise<Buffer> {
  if (parts === null || parts === undefined) return undefined
  if (parts.every((part) => Buffer.isBuffer(part))) return Buffer.concat([header, ...parts])
  header[0] = LIST
  return resolveParts(parts).then((resolved) => Buffer.concat([header, ...listBytes(resolved)]))
}

async function resolveParts(parts: readonly Part[]): Promise<Resolved[]> {
  const resolved: Resolved[] = []
  for (const part of parts) resolved.push(Buffer.isBuffer(part) ? part : await resolveParts(await part()))
  return resolved
}

function listBytes(list: readonly Resolved[]): Buffer[] {
  const bytes = [u32(list.length)]
  for (const part of list) {
    if (Buffer.isBuffer(part)) bytes.push(u32(part.length), part)
    else bytes.push(u32(LAZY), ...listBytes(part))
  }
  return bytes
}

function readList(source: Buffer, start: number): { parts: Part[]; end: number } {
  const parts: Part[] = []
  let end = start + 4
  for (let count = source.readUInt32LE(start); count > 0; count--) {
    const length = source.readUInt32LE(end)
    end += 4
    if (length === LAZY) {
      const inner = readList(source, end)
      parts.push(() => inner.parts)
      end = inner.end
    } else {
      parts.push(source.subarray(end, end + length))
      end += length
    }
  }
  return { parts, end }
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32LE(value)
  return bytes
}

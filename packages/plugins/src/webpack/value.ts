/**
 * A value's bytes: `u8 kind | payload`. Kind 1: the payload is one stream of webpack's serialiser. Kind 2: webpack left
 * parts of it lazy; the payload is a list, which is a u32 count and, for each part, a u32 length with that many
 * bytes, or 0xffffffff followed by the list that the lazy part gave.
 */
import type { Compiler } from 'webpack'

/** webpack's serialiser, the public one that makes buffers. Its types promise promises; most answers are there at once. */
export type Serializer = Compiler['webpack']['util']['serialization']['buffersSerializer']

/** What webpack's serialiser makes of a value: bytes, and functions that give more of them. */
export type Part = Buffer | (() => Part[] | Promise<Part[]>)

/** The same with every function called. */
type Resolved = Buffer | Resolved[]

const STREAM = 1
const LIST = 2
const LAZY = 0xffffffff

/** Serialised values keep no state between each other. */
const CONTEXT = {}

/** The bytes of a value; undefined where webpack declares it not to be serialisable. Throws where serialising fails. */
export function encodeValue(serializer: Serializer, data: object): Buffer | undefined | Promise<Buffer | undefined> {
  const parts: Part[] | null | Promise<Part[] | null> = serializer.serialize(data, CONTEXT)
  return parts instanceof Promise ? parts.then(joinParts) : joinParts(parts)
}

/** The value, or a promise of it. Throws where it cannot be restored. */
export function decodeValue(serializer: Serializer, bytes: Buffer): unknown {
  const payload = bytes.subarray(1)
  return serializer.deserialize(bytes[0] === STREAM ? [payload] : readList(payload, 0).parts, CONTEXT)
}

/** The same bytes as webpack takes them. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function joinParts(parts: readonly Part[] | null): Buffer | undefined | Promise<Buffer> {
  if (parts === null || parts === undefined) return undefined
  if (parts.every((part) => Buffer.isBuffer(part))) return Buffer.concat([Buffer.of(STREAM), ...parts])
  return resolveParts(parts).then((resolved) => Buffer.concat([Buffer.of(LIST), ...listBytes(resolved)]))
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

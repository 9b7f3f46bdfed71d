/**
 * Values of a tool as bytes: what goes in as a Buffer, a string or data comes back as that.
 *
 *   byte 0       kind: 0 bytes, 1 text, 2 data (JSON), 3 data (structured clone)
 *   bytes 1..9   a time the adapter wants to know without decoding the rest, milliseconds since 1970; 0 = none
 *   bytes 9..    the value
 *
 * The bytes of structured clone are those of Node's `v8.serialize`, which newer versions of Node can read; where an
 * older one cannot, the entry is a miss.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { isUint8Array } from 'node:util/types' // knows those of other realms, too: test runners have several
import { deserialize, serialize } from 'node:v8'
import type { Shape } from '../build/shape.ts'

const BYTES = 0
const TEXT = 1
const JSON_DATA = 2
const CLONE_DATA = 3
const HEADER_BYTES = 9

/** The last moment that a Date holds. */
const TIME_MAX_MS = 8.64e15

/** How data that is neither bytes nor a string is kept: as JSON, or with all that structured clone can hold. */
export type DataKind = 'json' | 'clone'

/** A value and the time that was put with it. */
export interface Stamped {
  readonly value: unknown
  /** Milliseconds since 1970; 0 = none. */
  readonly timeMs: number
}

/** The bytes of a value. What JSON cannot hold becomes null, as in `JSON.stringify` of an array. */
export function encodeValue(value: unknown, timeMs: number, dataKind: DataKind): Uint8Array {
  if (isUint8Array(value)) return frame(BYTES, timeMs, value)
  if (typeof value === 'string') return frame(TEXT, timeMs, Buffer.from(value))
  if (dataKind === 'clone') return frame(CLONE_DATA, timeMs, serialize(value))
  return frame(JSON_DATA, timeMs, Buffer.from(JSON.stringify(value) ?? 'null'))
}

/** The value of `encoded`, whose memory it may share; undefined if it is none of that shape. */
export function decodeValue(encoded: Uint8Array, shape: Shape<unknown>): Stamped | undefined {
  if (encoded.length < HEADER_BYTES) return undefined
  const bytes = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length)
  const timeMs = bytes.readDoubleLE(1)
  try {
    const value = decodeBody(bytes[0], bytes.subarray(HEADER_BYTES))
    return timeMs >= 0 && timeMs <= TIME_MAX_MS && value !== undefined && shape(value) ? { value, timeMs } : undefined
  } catch {
    return undefined
  }
}

function decodeBody(kind: number | undefined, body: Buffer): unknown {
  switch (kind) {
    case BYTES:
      return body
    case TEXT:
      return isUtf8(body) ? body.toString() : undefined
    case JSON_DATA:
      return JSON.parse(body.toString())
    case CLONE_DATA:
      return deserialize(body)
    default:
      return undefined
  }
}

function frame(kind: number, timeMs: number, body: Uint8Array): Uint8Array {
  const framed = Buffer.allocUnsafe(HEADER_BYTES + body.length)
  framed[0] = kind
  framed.writeDoubleLE(timeMs, 1)
  framed.set(body, HEADER_BYTES)
  return framed
}

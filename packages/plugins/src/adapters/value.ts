/**
 * Encodes values of a tool. A Buffer, a string or other data is decoded as the same kind.
 *
 *   byte 0       kind: 0 bytes, 1 text, 2 data (JSON), 3 data (structured clone)
 *   bytes 1..9   a time that the adapter reads without decoding the value, in milliseconds since 1970; 0 = none
 *   bytes 9..    the value
 *
 * A structured clone is the output of Node's `v8.serialize`, which newer versions of Node can read. If an older version
 * cannot, the entry is a miss.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { isUint8Array } from 'node:util/types' // also accepts those of other realms, which test runners create
import { deserialize, serialize } from 'node:v8'
import { parseJson } from 'varve/internal'
import type { Shape } from '../build/pack.ts'

const BYTES = 0
const TEXT = 1
const JSON_DATA = 2
const CLONE_DATA = 3
const HEADER_BYTES = 9

/** Half of a surrogate pair, which UTF-8 cannot represent. */
const LONE = /\p{Surrogate}/u

/** The latest time that a Date can represent. */
export const TIME_MAX_MS = 8.64e15

/** How data other than bytes and strings is encoded: as JSON, or as a structured clone. */
export type DataKind = 'json' | 'clone'

/** A value and the time that was put with it. */
export interface TimedValue {
  readonly value: unknown
  /** Milliseconds since 1970; 0 = none. */
  readonly timeMs: number
}

/** The bytes of a value. A value that JSON cannot represent becomes null, as in `JSON.stringify` of an array. */
export function encodeValue(value: unknown, timeMs: number, dataKind: DataKind): Uint8Array {
  if (isUint8Array(value)) return frame(BYTES, timeMs, value)
  if (typeof value === 'string' && !LONE.test(value)) return frame(TEXT, timeMs, Buffer.from(value))
  if (dataKind === 'clone') return frame(CLONE_DATA, timeMs, serialize(value))
  return frame(JSON_DATA, timeMs, Buffer.from(JSON.stringify(value) ?? 'null'))
}

/** The value of `encoded`, which may share its memory; undefined if it does not have the shape. */
export function decodeValue(encoded: Uint8Array, shape: Shape<unknown>): TimedValue | undefined {
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
      return parseJson(body.toString())
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

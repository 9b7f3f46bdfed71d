/**
 * What stands between the caller's values and the engine's bytes. A codec's tag is part of its namespace's version, so
 * a namespace that changes its codec starts afresh instead of reading bytes as something they are not.
 */
import { builtin } from './builtin.ts'
import { copyBytes, encodeText, isBytes, readText } from './bytes.ts'
import { VarveError } from './errors.ts'
import { ELEMENTS_MAX, hasTooMany, parseJson } from './json.ts'

/** Names of the codecs; see `NamespaceOptions.codec`. */
export type CodecName = 'bytes' | 'text' | 'json' | 'v8'

/** One way to turn values into bytes and back. */
export interface Codec<V> {
  readonly name: CodecName
  /** Part of the namespace's version; empty for plain bytes. */
  readonly tag: string
  /** The value's bytes, valid until the next call. Throws INVALID_ARGUMENT where the value has none. */
  encode(value: unknown): Uint8Array
  /**
   * The value of source[start, end). Shares no memory with source, unless `isOwned` says that source is nothing but
   * this value and nobody else's. Throws whatever it likes: the caller makes it a miss.
   */
  decode(source: Uint8Array, start: number, end: number, isOwned: boolean): V
}

const bytes: Codec<Uint8Array> = {
  name: 'bytes',
  tag: '',
  encode(value) {
    if (isBytes(value)) return value
    throw notEncodable('bytes', 'a Uint8Array', value)
  },
  decode: (source, start, end, isOwned) => (isOwned ? source : copyBytes(source, start, end)),
}

const text: Codec<string> = {
  name: 'text',
  tag: 'text',
  encode(value) {
    if (typeof value === 'string') return encodeText(value)
    throw notEncodable('text', 'a string', value)
  },
  decode: readText,
}

/** `JSON.parse` makes own properties only, also of `__proto__`, so a planted value cannot change a prototype. */
const json: Codec<unknown> = {
  name: 'json',
  tag: 'json',
  encode(value) {
    let encoded: string | undefined
    try {
      encoded = JSON.stringify(value)
    } catch (error) {
      throw notEncodable('json', 'a value that JSON.stringify takes', value, error)
    }
    if (encoded === undefined) throw notEncodable('json', 'a value that JSON can hold', value)
    if (hasTooMany(encoded)) throw notEncodable('json', `of at most ${ELEMENTS_MAX} elements`, value)
    return encodeText(encoded)
  },
  decode: (source, start, end) => parseJson(readText(source, start, end)),
}

/** Bytes of V8 mean something to the same V8 only, so its version is in the tag. */
function v8Codec(): Codec<unknown> {
  const v8 = builtin('node:v8')
  if (v8 === undefined) {
    throw new VarveError('INVALID_OPTION', "codec 'v8' needs Node.js, which is not here; take 'json' or 'bytes'")
  }
  return {
    name: 'v8',
    tag: `v8-${process.versions['bun'] === undefined ? '' : 'bun-'}${process.versions.v8}`,
    encode(value) {
      if (value === undefined) throw notEncodable('v8', 'anything but undefined, which means a miss', value)
      try {
        return v8.serialize(value)
      } catch (error) {
        throw notEncodable('v8', 'a value that v8.serialize takes', value, error)
      }
    },
    // Typed arrays inside the value lie over the bytes they were read from, so these must be the value's own.
    decode: (source, start, end, isOwned) => v8.deserialize(isOwned ? source : new Uint8Array(source.subarray(start, end))),
  }
}

/** The codec of that name. Throws INVALID_OPTION where the host lacks what it needs. */
export function codecOf<V>(name: CodecName): Codec<V> {
  const codecs: Record<CodecName, () => Codec<unknown>> = { bytes: () => bytes, text: () => text, json: () => json, v8: v8Codec }
  return codecs[name]() as Codec<V>
}

function notEncodable(codec: CodecName, expected: string, value: unknown, cause?: unknown): VarveError {
  const found = value === null ? 'null' : typeof value
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  const message = `a value of a namespace with codec '${codec}' is ${expected}, not ${found}${why}; see option 'codec'`
  return new VarveError('INVALID_ARGUMENT', message, { cause })
}

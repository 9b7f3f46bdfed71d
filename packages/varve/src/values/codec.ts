/**
 * Codecs turn the caller's values into the engine's bytes and back. The tag of a codec is part of the version of its
 * namespace, so another codec invalidates the namespace instead of misreading its bytes.
 */
import { builtin } from '../host/builtin.ts'
import { copyBytes, encodeText, isBytes, isGone, plainBytes, readText } from './bytes.ts'
import { type ErrorCode, VarveError } from '../errors.ts'
import { ELEMENTS_MAX, hasTooMany, jsonOf, parseJson, type Unlike, unlikeInClone, unlikeInJson } from './json.ts'

/** Names of the codecs; see `NamespaceOptions.codec`. */
export type CodecName = 'bytes' | 'text' | 'json' | 'v8'

/** One way to turn values into bytes and back. */
export interface Codec<V> {
  readonly name: CodecName
  /** Part of the namespace's version; empty for plain bytes. */
  readonly tag: string
  /** Whether values are the bytes themselves, so that an engine may write them where they stay. */
  readonly isRaw: boolean
  /** The value's bytes, valid until the next call. Throws INVALID_ARGUMENT if the value cannot become bytes. */
  encode(value: unknown): Uint8Array
  /**
   * The value of source[start, end). Shares no memory with source, unless `isOwned`: then source
   * holds only this value and the caller does not use it. The caller treats any exception as a miss.
   */
  decode(source: Uint8Array, start: number, end: number, isOwned: boolean): V
}

const bytes: Codec<Uint8Array> = {
  name: 'bytes',
  tag: '',
  isRaw: true,
  encode(value) {
    if (isBytes(value) && !isGone(value)) return plainBytes(value)
    if (isBytes(value))
      throw cannotHold('bytes', 'INVALID_ARGUMENT', 'its memory was transferred; put it before, or put a copy')
    throw notEncodable('bytes', 'a Uint8Array', value)
  },
  decode: (source, start, end, isOwned) => (isOwned ? source : copyBytes(source, start, end)),
}

const text: Codec<string> = {
  name: 'text',
  tag: 'text',
  isRaw: false,
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
  isRaw: false,
  encode(value) {
    const encoded = checked(
      'json',
      () => unlikeInJson(value),
      () => jsonOf(value),
    )
    if (hasTooMany(encoded)) throw cannotHold('json', 'VALUE_TOO_LONG', `it has more than ${ELEMENTS_MAX} elements`)
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
    isRaw: false,
    tag: `v8-${process.versions['bun'] === undefined ? '' : 'bun-'}${process.versions.v8}`,
    encode(value) {
      if (value === undefined) throw notEncodable('v8', 'anything but undefined, which means a miss', value)
      return checked(
        'v8',
        () => unlikeInClone(value),
        () => v8.serialize(value),
      )
    },
    // Typed arrays inside the value lie over the bytes they were read from, so these must be the value's own.
    decode: (source, start, end, isOwned) =>
      v8.deserialize(isOwned ? source : new Uint8Array(source.subarray(start, end))),
  }
}

/** The codec of that name. Throws INVALID_OPTION where the host lacks what it needs. */
export function codecOf<V>(name: CodecName): Codec<V> {
  const codecs: Record<CodecName, () => Codec<unknown>> = {
    bytes: () => bytes,
    text: () => text,
    json: () => json,
    v8: v8Codec,
  }
  return codecs[name]() as Codec<V>
}

/** What `encode` makes of a value that comes back as it is. */
function checked<Encoded>(codec: CodecName, unlikeIn: () => Unlike | undefined, encode: () => Encoded): Encoded {
  const unlike = attempt(codec, 'INVALID_ARGUMENT', 'it is nested too deeply, or a cycle', unlikeIn)
  if (unlike === undefined) return attempt(codec, 'VALUE_TOO_LONG', 'it is too long', encode)
  const place = unlike.path === '' ? 'it is' : `'value${unlike.path}' is`
  const wayOut =
    codec === 'json'
      ? "make plain data of it, or take codec 'v8', which holds Map, Set, Date and RegExp"
      : 'make plain data of it'
  throw cannotHold(
    codec,
    'INVALID_ARGUMENT',
    `${place} ${unlike.what}, which would come back as something else; ${wayOut}`,
  )
}

/** A RangeError is a limit of the host: of its stack, or of a text's length. */
function attempt<T>(codec: CodecName, limit: ErrorCode, why: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof RangeError) throw cannotHold(codec, limit, why, error)
    throw cannotHold(codec, 'INVALID_ARGUMENT', error instanceof Error ? error.message : String(error), error)
  }
}

function cannotHold(codec: CodecName, code: ErrorCode, why: string, cause?: unknown): VarveError {
  return new VarveError(code, `codec '${codec}' cannot hold this value: ${why}`, { cause })
}

function notEncodable(codec: CodecName, expected: string, value: unknown): VarveError {
  const found = value === null ? 'null' : typeof value
  return new VarveError('INVALID_ARGUMENT', `codec '${codec}' holds ${expected}, not ${found}; see option 'codec'`)
}

// Three versions decide whether an entry may be used: the tool's (`openCache`), the namespace's and the codec's. The
// engine knows one string per namespace, so they are joined: `<cache>/<namespace> <codec>`. Empty parts leave
// only the slash: `'3'`, `'1.2.0/3'`, `'1.2.0/'`, `'3 json'`. Different parts never give the same string,
// because slashes, spaces and percent signs inside a part are escaped, and so is half of a surrogate pair.

/**
 * The version string of a namespace as the engine sees it. `codec` is a codec's tag, empty for plain bytes.
 *
 * @example
 * joinVersions('1.2.0', '3', 'json') // '1.2.0/3 json'
 */
export function joinVersions(cache: string, namespace: string, codec: string): string {
  const versions = cache === '' ? escapePart(namespace) : `${escapePart(cache)}/${escapePart(namespace)}`
  return codec === '' ? versions : `${versions} ${escapePart(codec)}`
}

const ESCAPES: Readonly<Record<string, string>> = { '%': '%25', '/': '%2F', ' ': '%20' }

function escapePart(part: string): string {
  return part.replace(/[%/ ]|\p{Surrogate}/gu, (character) => ESCAPES[character] ?? escapeUnit(character))
}

/**
 * The name of a namespace as the engine sees it. Half of a surrogate pair has no UTF-8, so it becomes an escape. Different names never give
 * the same one, because the percent sign of what looks like an escape becomes one, too.
 *
 * @example
 * engineName('a\ud800') // 'a%uD800'
 */
export function engineName(name: string): string {
  return name.replace(/%(?=u[\dA-F]{4})|\p{Surrogate}/gu, escapeUnit)
}

function escapeUnit(unit: string): string {
  return `%u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}

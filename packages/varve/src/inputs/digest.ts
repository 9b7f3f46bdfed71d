/**
 * Digests of inputs and files: a letter for the type and the first 128 bits of SHA-256, 23 characters. Of what node:crypto
 * has, SHA-256 is the fastest for small inputs on processors that have instructions for it (Node 20, x64: 12 bytes 262 ns,
 * 5 KB 3.1 us; blake2b512 385 ns and 5.1 us, MD5 297 ns and 6.6 us), and `crypto.hash` takes a third of `createHash`. Two
 * values meet by accident once in 2^64 digests. Hosts without node:crypto have the same digests, from `sha256.ts`.
 *
 *   s  a string: its UTF-8               b  bytes; the content of a file
 *   x  a string that has no UTF-8        d  a folder: the names in it
 *   j  anything else: JSON with sorted keys
 *
 * Short inputs and variables have no digest; `literal.ts` describes them. What is undefined, such as a variable that is not set, has the word for it.
 */
import { encodeText, isBytes, isWellFormed } from '../values/bytes.ts'
import { builtin } from '../host/builtin.ts'
import { variable } from '../host/permission.ts'
import { VarveError } from '../errors.ts'
import { literalOf, literalOfText, withVersion } from './literal.ts'
import { sha256 } from './sha256.ts'
import { isPlain, kindOf } from '../values/plain.ts'

/** Loaded with the first digest: loading it takes 3 ms, a fifth of what importing Varve and opening a cache take. */
let loaded: ReturnType<typeof builtin<'node:crypto'>>
const nodeCrypto = (): typeof loaded => (loaded ??= builtin('node:crypto'))

/** Characters of base64url that hold 128 bits. */
const DIGEST_LENGTH = 22

/** Objects nested deeper than this are taken for cyclic. */
const DEPTH_MAX = 200

/** The digest of undefined. */
export const UNDEFINED_DIGEST = 'undefined'

/** The digest of an input. Throws INVALID_ARGUMENT, naming the place, for what two different values of could look the same. */
export function digestOf(value: unknown, name: string): string {
  if (typeof value === 'string') return digestOfValue(name, value)
  if (value === undefined) return UNDEFINED_DIGEST
  if (isBytes(value)) return digestOfBytes(value)
  const json = canonicalJson(value, name, 0)
  return literalOf(name, json) ?? `j${hash(json)}`
}

/** The digest of a text with a name, or the text itself if it is short. */
export function digestOfValue(name: string, text: string): string {
  return literalOfText(name, text) ?? digestOfText(text)
}

/** The digest of an environment variable as it is now. */
export function digestOfVariable(name: string): string {
  const value = variable(name)
  return value === undefined ? UNDEFINED_DIGEST : digestOfValue(name, value)
}

/** The digest of the content of a file. */
export function digestOfFile(path: string, content: Uint8Array): string {
  return withVersion(digestOfBytes(content), path, content)
}

/** The digest of a string. */
export function digestOfText(text: string): string {
  // Without UTF-8 a lone surrogate would be hashed as U+FFFD, and two different strings would meet.
  return isWellFormed(text) ? `s${hash(text)}` : `x${hash(JSON.stringify(text))}`
}

/** The digest of bytes. */
export function digestOfBytes(bytes: Uint8Array): string {
  return `b${hash(bytes)}`
}

/** The digest of a folder that holds these names. */
export function digestOfNames(names: readonly string[]): string {
  return `d${hash(JSON.stringify(names.toSorted()))}`
}

/** What `digestOfBytes` gives for the pieces one after another. */
export function digestOfPieces(pieces: Iterable<Uint8Array>): string {
  const crypto = nodeCrypto()
  if (crypto === undefined)
    throw new VarveError('ENGINE_UNAVAILABLE', 'digests of files need node:crypto, which this host does not have')
  const whole = crypto.createHash('sha256')
  for (const piece of pieces) whole.update(piece)
  return `b${whole.digest('base64url').slice(0, DIGEST_LENGTH)}`
}

function hash(data: string | Uint8Array): string {
  const whole =
    nodeCrypto()?.hash('sha256', data, 'base64url') ?? sha256(typeof data === 'string' ? encodeText(data) : data)
  return whole.slice(0, DIGEST_LENGTH)
}

/** JSON with sorted keys; undefined, NaN and bigints keep a text of their own, so that different values differ. */
function canonicalJson(value: unknown, place: string, depth: number): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value)
    case 'bigint':
      return `${value}n`
    case 'object':
      return value === null ? 'null' : canonicalObject(value, place, depth)
    default:
      throw notHashable(place, `a ${typeof value}`)
  }
}

function canonicalObject(value: object, place: string, depth: number): string {
  if (depth > DEPTH_MAX) throw notHashable(place, 'nested too deeply, or a cycle')
  if ('toJSON' in value && typeof value.toJSON === 'function') return canonicalJson(value.toJSON(), place, depth + 1)
  if (isBytes(value)) return `<${digestOfBytes(value)}>`
  if (Array.isArray(value))
    return `[${value.map((item, index) => canonicalJson(item, `${place}[${index}]`, depth + 1)).join()}]`
  const isObject = Object.prototype.toString.call(value) === '[object Object]'
  if (!isObject || !isPlain(value)) throw notHashable(place, kindOf(value))
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member, `${place}.${key}`, depth + 1)}`).join()}}`
}

function notHashable(place: string, found: string): VarveError {
  const message = `input '${place}' is ${found}; inputs are strings, Uint8Arrays and what JSON can hold: make a string of it that changes with it`
  return new VarveError('INVALID_ARGUMENT', message)
}

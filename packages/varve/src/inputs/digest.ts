/**
 * Digests of inputs and files: a letter for the type and the first 128 bits of SHA-256, 23 characters. Of what node:crypto
 * has, SHA-256 is the fastest for small inputs on processors that have instructions for it (Node 20, x64: 12 bytes 262 ns,
 * 5 KB 3.1 us; blake2b512 385 ns and 5.1 us, MD5 297 ns and 6.6 us), and `crypto.hash` takes a third of `createHash`. Two
 * values meet by accident once in 2^64 digests. Hosts without node:crypto have the same digests as well.
 *
 *   s  a string: its UTF-8               b  bytes; the content of a file
 *   x  a string that has no UTF-8        d  a folder: the names in it
 *   j  anything else: JSON with sorted keys
 *
 * Short inputs and variables have no digest; see below. What is undefined, such as a variable that is not set, has the word for it.
 */
import { encodeText, isBytes, isWellFormed } from '../values/bytes.ts'
import { builtin } from '../host/builtin.ts'
import { variable } from '../host/permission.ts'
import { VarveError } from '../errors.ts'
import { isPlain, kindOf, jsonOf, parseJson } from '../values/json.ts'

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
  return `d${hash(jsonOf(names.toSorted()))}`
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

/**
 * Short values, which a record has instead of their digests, so that `why` can name them. They take no more bytes than a digest.
 *
 *   ="production"                     a text, as JSON
 *   =12                               another value, as JSON
 *   bLHvAPItmcc9l4w10oslyz6 7.30.0    the manifest of a package: its digest, and the version in it
 *
 * A value may be a secret, and a cache may be shared. A value stays a digest if it is longer than VALUE_MAX, if its name or its text
 * contains a word of SECRET, or if it looks random.
 */

/** Characters of the JSON of a value that is shown, and of an absolute path. */
const VALUE_MAX = 32
const PATH_MAX = 80
const PATH = /^"(?:\\")?(?:\/|[A-Za-z]:\\)[\w.@ /\\-]*(?:\\")?"$/

/** Words of names of secrets: API_KEY, npm_config__authToken, DATABASE_URL, a URL with a user. */
const SECRET =
  /secret|token|pass(?:w|phrase|code)|pwd|credential|private|key|auth|cookie|session|signature|salt|cert|jwt|dsn|(?:^|_)pat(?:$|_)|database|:\/\//i

/** At least 12 letters and digits without a separator, with both among them, as in keys and hashes. Numbers, dates and words are none. */
const RANDOM = /(?=[\w=]*\d)(?=[\w=]*[A-Za-z])[\w=]{12,}/

const PACKAGE = /(?:^|[\\/])node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)[\\/]package\.json$/
const VERSION = /"version"\s*:\s*"([\w.+-]{1,30})"/
const VERSIONED = /^b[\w-]{22} ([\w.+-]{1,30})$/

/** What a record has of a value, as JSON: the value, or undefined if it has a digest. */
export function literalOf(name: string, json: string): string | undefined {
  const isShort = json.length <= VALUE_MAX || (json.length <= PATH_MAX && PATH.test(json))
  const isShown = isShort && !SECRET.test(name) && !SECRET.test(json) && !RANDOM.test(json)
  return isShown ? `=${json}` : undefined
}

/** What a record has of a text. */
export function literalOfText(name: string, text: string): string | undefined {
  return text.length <= PATH_MAX ? literalOf(name, JSON.stringify(text)) : undefined
}

/** The name of the package whose manifest a path is. */
export function packageOf(path: string): string | undefined {
  return PACKAGE.exec(path)?.[1]?.replace('\\', '/')
}

/** The digest of a file, with its version if it is the manifest of a package. */
export function withVersion(digest: string, path: string, content: Uint8Array): string {
  if (!path.endsWith('package.json') || packageOf(path) === undefined) return digest
  const [, version] = VERSION.exec(new TextDecoder('latin1').decode(content)) ?? []
  return version === undefined ? digest : `${digest} ${version}`
}

/** The value or the version that a digest shows; undefined if it shows none. Digests from disk may have any form. */
export function shownOf(digest: string | undefined): string | undefined {
  if (digest === undefined || digest.length > PATH_MAX + 1) return undefined
  if (!digest.startsWith('=')) return VERSIONED.exec(digest)?.[1]
  const json = digest.slice(1)
  try {
    const value = parseJson(json)
    return typeof value === 'string' && value !== '' ? value : json
  } catch {
    return json
  }
}

interface Constants {
  readonly rounds: Uint32Array
  readonly start: Uint32Array
}

/** Made once they are used: Node.js has its own, and would spend 0.2 ms at each start. */
let constants: Constants | undefined

const BLOCK_BYTES = 64
/** The byte after the data, and the number of its bits. */
const END_BYTES = 9

/** SHA-256 (FIPS 180-4), as base64url, for hosts without node:crypto: WebCrypto has it too, but only as a promise. */
export function sha256(data: Uint8Array): string {
  const padded = new Uint8Array(Math.ceil((data.length + END_BYTES) / BLOCK_BYTES) * BLOCK_BYTES)
  padded.set(data)
  padded[data.length] = 0x80
  const words = new DataView(padded.buffer)
  words.setBigUint64(padded.length - 8, BigInt(data.length) * 8n)
  const { rounds, start } = (constants ??= makeConstants())
  const state = start.slice()
  const schedule = new Uint32Array(rounds.length)
  for (let offset = 0; offset < padded.length; offset += BLOCK_BYTES) {
    for (let index = 0; index < 16; index++) schedule[index] = words.getUint32(offset + 4 * index)
    mix(state, schedule, rounds)
  }
  for (const [index, word] of state.entries()) words.setUint32(4 * index, word)
  const text = btoa(String.fromCharCode(...padded.subarray(0, 4 * state.length)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
}

/** Mixes a block, whose 16 words the schedule begins with, into the state. */
function mix(state: Uint32Array, schedule: Uint32Array, rounds: Uint32Array): void {
  const word = (index: number): number => schedule[index] ?? 0
  for (let index = 16; index < schedule.length; index++) {
    const early = word(index - 15)
    const late = word(index - 2)
    const first = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3)
    const second = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10)
    schedule[index] = word(index - 16) + first + word(index - 7) + second
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (const [index, constant] of rounds.entries()) {
    const chosen = (e & f) ^ (~e & g)
    const added = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + chosen + constant + word(index)) | 0
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const mixed = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + added) | 0, c, b, a, (added + mixed) | 0]
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) state[index] = (state[index] ?? 0) + value
}

function makeConstants(): Constants {
  const first = primes(64)
  return {
    rounds: Uint32Array.from(first, (prime) => fraction(Math.cbrt(prime))),
    start: Uint32Array.from(first.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
  }
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

/** The first 32 bits after the point. */
function fraction(value: number): number {
  return Math.floor((value % 1) * 2 ** 32)
}

function primes(count: number): readonly number[] {
  const found: number[] = []
  for (let number = 2; found.length < count; number++)
    if (found.every((prime) => number % prime !== 0)) found.push(number)
  return found
}

/**
 * The remote caches of other build tools as stores. A remote cache for Bazel over HTTP, such as bazel-remote, has:
 *
 *   /cas/<sha256>          chunks and descriptions, which are named by their digest; the server checks it, so both trust domains share them
 *   /ac/<sha256 of name>   everything else, as an `ActionResult`, which the server may check, too
 *
 * The protocol has no ranges, conditions, lists or deletes. The server removes what was not used for long.
 */
import { createHash } from 'node:crypto'
import { VarveError } from 'varve'
import { ANYTHING, checkOptions, type Fields, BOOLEAN, STRING } from 'varve/internal'
import { invalidOption, SERVER, MS } from '../options.ts'
import { type Answer, authorizationOf, type Call, type CredentialsOption, send, serverUrl } from './http.ts'
import { type BlobStore, digestIn, tooLarge, type WholeBlobs, WholeStore } from './store.ts'

/** Options of `bazel`. */
export interface BazelOptions {
  /** Address of the cache, without credentials. A path is an instance name: teams with different ones do not see each other's manifests. */
  readonly url: string
  /** A user and a password, or a bearer token; a function is called for each request. */
  readonly credentials?: CredentialsOption | undefined
  /**
   * Accepts plain http to another machine.
   * @defaultValue `false`
   */
  readonly allowInsecure?: boolean | undefined
  /**
   * Milliseconds for one request, besides the time for its bytes.
   * @defaultValue `5000`
   */
  readonly requestMs?: number | undefined
}

const BAZEL_FIELDS: Fields<BazelOptions> = { url: ANYTHING, ...SERVER }

/** A store in a remote cache for Bazel. */
export function bazel(options: BazelOptions): BlobStore {
  checkOptions('bazel()', options, BAZEL_FIELDS)
  if (typeof options.url !== 'string') throw invalidOption("option 'url' of bazel()", 'an http or https address')
  return new WholeStore(new BazelBlobs(options))
}

class BazelBlobs implements WholeBlobs {
  readonly label: string
  readonly bytesMax = 64 << 20
  readonly requestMs: number
  readonly #url: string
  readonly #instance: string
  readonly #credentials: BazelOptions['credentials']

  constructor({ url: given, credentials, allowInsecure = false, requestMs = 5000 }: BazelOptions) {
    const url = serverUrl('url', given, allowInsecure)
    this.#instance = url.pathname.replace(/\/$/, '')
    this.label = `bazel cache ${url.host}${this.#instance}`
    this.requestMs = requestMs
    this.#url = `${url.origin}${this.#instance}`
    this.#credentials = credentials
  }

  async read(name: string, bytesMax: number, signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    const digest = digestIn(name)
    const most = bytesMax + (digest === undefined ? ACTION_RESULT_EXTRA : 0)
    const { status, bytes } = await this.#send({ name, method: 'GET', expected: [200, 404], bytesMax: most, signal })
    if (status === 404) return undefined
    const found = digest === undefined ? decodeActionResult(bytes) : bytes
    if (found === undefined)
      throw new VarveError(
        'REMOTE_UNTRUSTED',
        `'${name}' of the remote is not used: ${this.label} has no ActionResult there`,
      )
    if (found.length > bytesMax) throw tooLarge(name, bytesMax)
    return found
  }

  async has(name: string, signal: AbortSignal | undefined): Promise<boolean> {
    return (await this.#send({ name, method: 'HEAD', expected: [200, 404], signal })).status === 200
  }

  async write(name: string, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    const body = digestIn(name) === undefined ? encodeActionResult(bytes) : bytes
    await this.#send({ name, method: 'PUT', body, expected: [200, 201, 204], signal })
  }

  #send(call: Omit<Call, 'url' | 'headers'>): Promise<Answer> {
    return send(
      { ...call, url: `${this.#url}/${this.#pathOf(call.name)}`, headers: () => authorizationOf(this.#credentials) },
      this,
    )
  }

  #pathOf(name: string): string {
    const digest = digestIn(name)
    return digest === undefined
      ? `ac/${createHash('sha256').update(`${this.#instance}/${name}`).digest('hex')}`
      : `cas/${digest}`
  }
}

// Bytes as an `ActionResult` of the remote execution protocol, which servers for Bazel store under `/ac/` and may check: the exit code 0, and
// the bytes as what the action wrote to its standard output.
//
//   20 00                  field 4, exit_code = 0: an empty message would be refused
//   2a <length> <bytes>    field 5, stdout_raw
//
// A server may add fields, such as its own name, so a reader skips what it does not know.

const EXIT_CODE = [0x20, 0x00]
const STDOUT_RAW = 5

/** Types of fields: a number, 8 bytes, bytes with their length, 4 bytes. */
const NUMBER = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

export function encodeActionResult(bytes: Uint8Array): Uint8Array {
  const head = Buffer.from([...EXIT_CODE, (STDOUT_RAW << 3) | (BYTES ?? 0), ...encodeNumber(bytes.length)])
  return new Uint8Array(Buffer.concat([head, bytes]))
}

/** Most bytes that the message adds. A server that adds more than 4 KiB of its own is not supported. */
const ACTION_RESULT_EXTRA = 4096

/** The bytes in a message; undefined if it is none. */
export function decodeActionResult(message: Uint8Array): Uint8Array | undefined {
  let found = new Uint8Array()
  for (let at = 0; at < message.length;) {
    const key = decodeNumber(message, at)
    const first = key === undefined ? undefined : decodeNumber(message, key.end)
    if (key === undefined) return undefined
    const type = key.value % 8
    if (type === FIXED64 || type === FIXED32) at = key.end + (type === FIXED64 ? 8 : 4)
    else if (first === undefined) return undefined
    else if (type === NUMBER) at = first.end
    else if (type !== BYTES) return undefined
    else {
      at = first.end + first.value
      if (at > message.length) return undefined
      if (Math.floor(key.value / 8) === STDOUT_RAW) found = message.slice(first.end, at)
    }
  }
  return found
}

/** A number in groups of 7 bits, the lowest first; all groups but the last have the highest bit set. */
function encodeNumber(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...encodeNumber(Math.floor(value / 128))]
}

function decodeNumber(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0
  for (let index = 0; index < 10; index++) {
    const byte = bytes[start + index]
    if (byte === undefined) return undefined
    value += (byte % 128) * 2 ** (7 * index)
    if (byte < 128) return Number.isSafeInteger(value) ? { value, end: start + index + 1 } : undefined
  }
  return undefined
}

// A server of the Turborepo API, such as turborepo-remote-cache: blobs at `/v8/artifacts/<sha256 of name>`, with a bearer token. The API
// has no ranges, conditions, lists or deletes.

/** Options of `turbo`. */
export interface TurboOptions {
  /** Address of the server, without credentials; what Turborepo calls `TURBO_API`. */
  readonly url: string
  /** The bearer token, or a function that is called for each request. */
  readonly token: string | (() => string | Promise<string>)
  /** The team: its id, which begins with `team_`, or its slug. Most servers require one. */
  readonly team?: string | undefined
  /**
   * Accepts plain http to another machine.
   * @defaultValue `false`
   */
  readonly allowInsecure?: boolean | undefined
  /**
   * Milliseconds for one request, besides the time for its bytes.
   * @defaultValue `5000`
   */
  readonly requestMs?: number | undefined
}

const TURBO_FIELDS: Fields<TurboOptions> = {
  url: ANYTHING,
  token: ANYTHING,
  team: STRING,
  allowInsecure: BOOLEAN,
  requestMs: MS,
}

/** A store in a server of the Turborepo API. */
export function turbo(options: TurboOptions): BlobStore {
  checkOptions('turbo()', options, TURBO_FIELDS)
  const { url, token, team = '' } = options
  if (typeof url !== 'string') throw invalidOption("option 'url' of turbo()", 'an http or https address')
  if (typeof token !== 'function' && (typeof token !== 'string' || token === '')) {
    throw invalidOption("option 'token' of turbo()", 'the token of the server (VARVE_REMOTE_TOKEN or TURBO_TOKEN)')
  }
  if (!/^[\w.-]{0,100}$/.test(team)) {
    throw invalidOption("option 'team' of turbo()", "an id or a slug, for example 'team_frontend'")
  }
  return new WholeStore(new TurboBlobs(options))
}

class TurboBlobs implements WholeBlobs {
  readonly label: string
  /** Servers that run as functions of a cloud accept bodies of 4.5 MB. */
  readonly bytesMax = 4 << 20
  readonly requestMs: number
  readonly #url: string
  readonly #query: string
  readonly #token: TurboOptions['token']

  constructor({ url: given, token, team = '', allowInsecure = false, requestMs = 5000 }: TurboOptions) {
    const url = serverUrl('url', given, allowInsecure)
    const path = url.pathname.replace(/\/$/, '')
    this.label = `turbo cache ${url.host}${path}${team === '' ? '' : ` of team '${team}'`}`
    this.requestMs = requestMs
    this.#url = `${url.origin}${path}/v8/artifacts`
    this.#query = team === '' ? '' : `?${team.startsWith('team_') ? 'teamId' : 'slug'}=${team}`
    this.#token = token
  }

  async read(name: string, bytesMax: number, signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    const { status, bytes } = await this.#send({ name, method: 'GET', expected: [200, 404], bytesMax, signal })
    return status === 404 ? undefined : bytes
  }

  async has(name: string, signal: AbortSignal | undefined): Promise<boolean> {
    return (await this.#send({ name, method: 'HEAD', expected: [200, 404], signal })).status === 200
  }

  async write(name: string, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    await this.#send({ name, method: 'PUT', body: bytes, expected: [200, 201, 202, 204], signal })
  }

  #send(call: Omit<Call, 'url' | 'headers'>): Promise<Answer> {
    const hash = createHash('sha256').update(call.name).digest('hex')
    const headers = async (): Promise<Record<string, string>> => {
      const token = typeof this.#token === 'function' ? await this.#token() : this.#token
      return {
        ...(await authorizationOf({ token })),
        ...(call.body === undefined ? {} : { 'content-type': 'application/octet-stream' }),
      }
    }
    return send({ ...call, url: `${this.#url}/${hash}${this.#query}`, headers }, this)
  }
}

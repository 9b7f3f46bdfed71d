/**
 * Redis, Valkey, or a service that is compatible, one server or a cluster:
 *
 *   <prefix>:<name>    13 digits: the time of the server in milliseconds at the write | the bytes
 *
 * An etag is the SHA-1 of such a value, which scripts compute in the server. So conditions are atomic, and there is a head. Each
 * command uses one key. `@redis/client` is imported at the first request.
 */
import { createHash } from 'node:crypto'
import { ANYTHING, checkOptions, type Fields, TEXT } from 'varve/internal'
import { invalidOption, SERVER } from '../options.ts'
import { type RedisCredentials, RedisConnection, redisUrl } from './redis-client.ts'
import {
  type BlobStore,
  checkSize,
  type Fetched,
  type GetOptions,
  type Head,
  type Listed,
  type PutOptions,
  type PutOutcome,
  segmentsOf,
  tooLarge,
} from './store.ts'

/** Options of `redis`. */
export interface RedisOptions {
  /**
   * Address without credentials: `redis://host:6379/0`, or `rediss://` for TLS. The path is the number of the database. Of a cluster, one
   * server is named; it names the others.
   */
  readonly url: string
  /**
   * What all keys begin with.
   * @defaultValue `'varve'`
   */
  readonly prefix?: string | undefined
  readonly credentials?: RedisCredentials | (() => RedisCredentials | Promise<RedisCredentials>) | undefined
  /**
   * Accepts a connection without TLS to another machine.
   * @defaultValue `false`
   */
  readonly allowInsecure?: boolean | undefined
  /**
   * Milliseconds for one request, besides the time for its bytes.
   * @defaultValue `5000`
   */
  readonly requestMs?: number | undefined
}

const FIELDS: Fields<RedisOptions> = { url: ANYTHING, prefix: TEXT, ...SERVER }

/** Bytes of the time before the content. */
const TIME_BYTES = 13

/** Keys that are kept to leave out those that a scan returns twice. */
const LISTED_MAX = 100_000

/** A create-only write of more bytes first asks whether the key exists. */
const PROBED_BYTES = 65_536

/** ARGV: an etag or ''. Returns nothing without the key; the etag if it is still that; else nothing but the size if that is above ARGV[2]. */
const GET = `
local size = redis.call('STRLEN', KEYS[1])
if size == 0 then return false end
if size > tonumber(ARGV[2]) + ${TIME_BYTES} then return {'large'} end
local value = redis.call('GET', KEYS[1])
if ARGV[1] ~= '' and redis.sha1hex(value) == ARGV[1] then return {'same'} end
return {'found', value}`

/** ARGV: '' to write, 'absent' to create, or the etag to replace; the bytes. Returns whether it has written. */
const PUT = `
if ARGV[1] == 'absent' then
  if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
elseif ARGV[1] ~= '' then
  local value = redis.call('GET', KEYS[1])
  if not value or redis.sha1hex(value) ~= ARGV[1] then return 0 end
end
local time = redis.call('TIME')
redis.call('SET', KEYS[1], time[1] .. string.format('%03d', math.floor(time[2] / 1000)) .. ARGV[2])
return 1`

/** A store in Redis. Needs `@redis/client` 6 beside `@varve/remote`. */
export function redis(options: RedisOptions): BlobStore {
  checkOptions('redis()', options, FIELDS)
  const { prefix = 'varve' } = options
  if (!/^[\w:./-]{1,100}$/.test(prefix)) {
    throw invalidOption("option 'prefix' of redis()", "letters, digits and ':._/-', for example 'varve:web'")
  }
  return new RedisStore(options)
}

type RangeOptions = Pick<GetOptions, 'signal'> & {
  readonly range: NonNullable<GetOptions['range']>
  readonly bytesMax: number
}

class RedisStore implements BlobStore {
  readonly label: string
  readonly capabilities = {
    range: true,
    createOnly: true,
    compareAndSwap: true,
    list: true,
    delete: true,
    bytesMax: 64 << 20,
  }
  readonly #prefix: string
  readonly #connection: RedisConnection

  constructor({ url: given, prefix = 'varve', credentials, allowInsecure = false, requestMs = 5000 }: RedisOptions) {
    const url = redisUrl(given, allowInsecure)
    this.label = `${url.protocol}//${url.host}${url.pathname} ${prefix}`
    this.#prefix = `${prefix}:`
    this.#connection = new RedisConnection(this.label, url.href, requestMs, credentials, allowInsecure)
  }

  async get(
    name: string,
    { range, ifNoneMatch = '', bytesMax = this.capabilities.bytesMax, signal }: GetOptions = {},
  ): Promise<Fetched | undefined> {
    const key = this.#keyOf(name)
    if (range !== undefined) return this.#getRange(key, name, { range, bytesMax, signal })
    const reply = await this.#connection.send(
      name,
      ['EVAL', GET, '1', key, ifNoneMatch, String(bytesMax)],
      bytesMax,
      signal,
    )
    if (!Array.isArray(reply)) return undefined
    const [kind, value] = reply.map((each) => (Buffer.isBuffer(each) ? each : Buffer.from(String(each))))
    if (kind?.toString() === 'same') return { bytes: new Uint8Array(), etag: ifNoneMatch, unchanged: true }
    if (value === undefined || value.length > bytesMax + TIME_BYTES) throw tooLarge(name, bytesMax)
    return { bytes: new Uint8Array(value.subarray(TIME_BYTES)), etag: createHash('sha1').update(value).digest('hex') }
  }

  async head(name: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<Head | undefined> {
    const found = await this.get(name, { signal })
    return found === undefined ? undefined : { size: found.bytes.length, etag: found.etag }
  }

  async put(name: string, bytes: Uint8Array, { ifAbsent, ifMatch, signal }: PutOptions = {}): Promise<PutOutcome> {
    const key = this.#keyOf(name)
    checkSize(this, name, bytes)
    if (ifAbsent === true && bytes.length > PROBED_BYTES && (await this.#exists(key, name, signal))) return 'exists'
    // An empty etag, of a blob that was not found, matches none.
    const condition = ifAbsent === true ? 'absent' : ifMatch === undefined ? '' : ifMatch || 'none'
    const reply = await this.#connection.send(
      name,
      ['EVAL', PUT, '1', key, condition, Buffer.from(bytes)],
      bytes.length,
      signal,
    )
    if (Number(reply) === 1) return 'stored'
    return ifAbsent === true ? 'exists' : 'conflict'
  }

  async *list(prefix: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): AsyncIterable<Listed> {
    const pattern = `${this.#prefix}${prefix}`.replace(/[\\*?[\]]/g, '\\$&')
    const listed = new Set<string>() // SCAN may return a key twice
    const servers = await this.#connection.servers(prefix, signal)
    for (let server = 0; server < servers; server++) {
      let cursor = '0'
      do {
        const scan = ['SCAN', cursor, 'MATCH', `${pattern}*`, 'COUNT', '1000']
        const reply = await this.#connection.send(prefix, scan, 0, signal, server)
        const [next, keys] = Array.isArray(reply) ? reply : []
        const found = (Array.isArray(keys) ? keys : []).map(String).filter((key) => !listed.has(key))
        if (listed.size > LISTED_MAX) listed.clear()
        for (const key of found) listed.add(key)
        for (const each of await Promise.all(found.map((key) => this.#listed(key, signal))))
          if (each !== undefined) yield each
        cursor = String(next ?? '0')
      } while (cursor !== '0')
    }
  }

  async delete(
    names: readonly string[],
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    for (const name of names) await this.#connection.send(name, ['DEL', this.#keyOf(name)], 0, signal)
  }

  /** A blob in a list; undefined if it was removed meanwhile. */
  async #listed(key: string, signal: AbortSignal | undefined): Promise<Listed | undefined> {
    const name = key.slice(this.#prefix.length)
    const [size, time] = await Promise.all([
      this.#connection.send(name, ['STRLEN', key], 0, signal),
      this.#connection.send(name, ['GETRANGE', key, '0', String(TIME_BYTES - 1)], 0, signal),
    ])
    return Number(size) < TIME_BYTES
      ? undefined
      : { name, size: Number(size) - TIME_BYTES, modified: Number(String(time)) }
  }

  async #getRange(key: string, name: string, { range, bytesMax, signal }: RangeOptions): Promise<Fetched | undefined> {
    if (range.end - range.start > bytesMax) throw tooLarge(name, bytesMax)
    const offsets = [range.start + TIME_BYTES, range.end + TIME_BYTES - 1].map(String)
    const reply = await this.#connection.send(name, ['GETRANGE', key, ...offsets], bytesMax, signal)
    if (Buffer.isBuffer(reply) && reply.length > 0) return { bytes: new Uint8Array(reply) }
    return (await this.#exists(key, name, signal)) ? { bytes: new Uint8Array() } : undefined
  }

  async #exists(key: string, name: string, signal: AbortSignal | undefined): Promise<boolean> {
    return Number(await this.#connection.send(name, ['EXISTS', key], 0, signal)) === 1
  }

  #keyOf(name: string): string {
    segmentsOf(name)
    return this.#prefix + name
  }
}

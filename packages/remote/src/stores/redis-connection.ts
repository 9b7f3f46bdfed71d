/**
 * One connection to Redis, opened at the first request:
 *
 *   1. Commands are sent without waiting for the replies of earlier ones.
 *   2. A connection that fails is replaced, and the command is sent once more. One that takes longer than its budget is closed.
 *   3. Only commands that are under way keep the process running.
 */
import type * as client from '@redis/client'
import { VarveError } from 'varve'
import { invalidOption } from '../options.ts'
import { isLoopback } from './http.ts'
import { budgetOf } from './store.ts'

/** Credentials of Redis. A server with only a password has no username. */
export interface RedisCredentials {
  readonly username?: string | undefined
  readonly password: string
}

type CredentialsOption = RedisCredentials | (() => RedisCredentials | Promise<RedisCredentials>)

const ATTEMPTS = 2

/** Replies that refuse the credentials, or what they allow. */
const DENIED: ReadonlySet<string> = new Set(['NOAUTH', 'WRONGPASS', 'NOPERM', 'READONLY'])

/** What is used of a client of `@redis/client`. */
interface Client {
  sendCommand(args: readonly (string | Buffer)[]): Promise<unknown>
  ref(): void
  unref(): void
  destroy(): void
}

export class RedisConnection {
  readonly #label: string
  readonly #url: string
  readonly #requestMs: number
  readonly #credentials: CredentialsOption | undefined
  #client: Promise<Client> | undefined
  #pending = 0

  constructor(label: string, url: string, requestMs: number, credentials: CredentialsOption | undefined) {
    this.#label = label
    this.#url = url
    this.#requestMs = requestMs
    this.#credentials = credentials
  }

  /** Sends a command that transfers about so many bytes. `name` is the blob, for messages, which contain nothing else of the command. */
  async send(name: string, args: readonly (string | Buffer)[], bytes: number, signal: AbortSignal | undefined): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted()
      const client = (this.#client ??= this.#connect().catch((error: unknown) => {
        this.#client = undefined
        throw error
      }))
      try {
        return await within(this.#run(client, args), budgetOf(this.#requestMs, bytes), signal)
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason
        if (error instanceof VarveError) throw error
        const reply = replyCode(error)
        if (reply === undefined) this.#close(client)
        if (reply !== undefined || error instanceof Overdue || attempt === ATTEMPTS) throw this.#failure(name, args[0], reply, error)
      }
    }
  }

  async #connect(): Promise<Client> {
    const { createClient, RESP_TYPES } = await loadRedis()
    const credentials = typeof this.#credentials === 'function' ? await this.#credentials() : this.#credentials
    const socket = { connectTimeout: this.#requestMs, reconnectStrategy: false } as const
    const { username, password } = credentials ?? {}
    const account = { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) }
    const client = createClient({ url: this.#url, ...account, socket, RESP: 2, disableOfflineQueue: true })
    client.on('error', () => undefined) // the commands that fail report it
    try {
      await within(client.connect(), this.#requestMs, undefined)
    } catch (error) {
      if (client.isOpen) client.destroy()
      throw error
    }
    const buffers = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
    client.unref()
    return {
      sendCommand: (args) => buffers.sendCommand(args),
      ref: () => client.ref(),
      unref: () => client.unref(),
      destroy: () => client.destroy(),
    }
  }

  async #run(opening: Promise<Client>, args: readonly (string | Buffer)[]): Promise<unknown> {
    const client = await opening
    this.#pending++
    client.ref()
    try {
      return await client.sendCommand(args)
    } finally {
      if (--this.#pending === 0) client.unref()
    }
  }

  #close(failed: Promise<Client>): void {
    if (this.#client === failed) this.#client = undefined
    failed.then((client) => client.destroy()).catch(() => undefined)
  }

  #failure(name: string, command: string | Buffer | undefined, reply: string | undefined, error: unknown): VarveError {
    const failed = `cannot ${String(command)} '${name}' at ${this.#label}`
    if (reply !== undefined && DENIED.has(reply)) {
      return new VarveError('REMOTE_DENIED', `${failed}: ${reply}. Check the credentials and what they allow`)
    }
    return new VarveError('REMOTE_UNAVAILABLE', `${failed}: ${reply ?? connectionCode(error)}`)
  }
}

/** A command that has taken longer than its budget. */
class Overdue extends Error {}

/** The outcome of `work`; rejects after `ms`, or when the signal aborts. The work goes on. */
async function within<T>(work: Promise<T>, ms: number, signal: AbortSignal | undefined): Promise<T> {
  let end: (error: unknown) => void = () => undefined
  const ended = new Promise<never>((_, reject) => (end = reject))
  const timer = setTimeout(() => end(new Overdue(`no complete answer within ${Math.ceil(ms)} ms`)), ms)
  const stop = (): void => end(signal?.reason)
  signal?.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, ended])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

/** The first word of an error that the server has sent; the rest may repeat the command. Undefined for other errors. */
function replyCode(error: unknown): string | undefined {
  const [, word] = /^([A-Z]{2,20}) /.exec(error instanceof Error ? error.message : '') ?? []
  return word
}

/** The system's code of a failed connection, or a time that is over. */
function connectionCode(error: unknown): string {
  if (!(error instanceof Error)) return 'the connection failed'
  if ('code' in error && typeof error.code === 'string' && /^[A-Z_]+$/.test(error.code)) return error.code
  return error instanceof Overdue ? error.message : 'the connection failed'
}

/** The address of a server. Throws INVALID_OPTION for credentials in it, and without TLS for another machine. */
export function redisUrl(given: string, allowInsecure: boolean): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !/^rediss?:$/.test(url.protocol) || url.hostname === '' || !/^(?:\/\d{0,4})?$/.test(url.pathname)) {
    throw invalidOption("option 'url' of redis()", "an address such as 'rediss://cache.example.com:6379/0'")
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new VarveError('INVALID_OPTION', "option 'url' of redis() has credentials, a query or a fragment; pass credentials in option 'credentials'")
  }
  if (url.protocol === 'redis:' && !isLoopback(url.hostname) && !allowInsecure) {
    const risk = 'everyone on the way could read credentials and values'
    throw new VarveError('INVALID_OPTION', `option 'url' of redis() has no TLS to '${url.host}': ${risk}. Use rediss, or set 'allowInsecure: true'`)
  }
  return url
}

async function loadRedis(): Promise<typeof client> {
  try {
    return await import('@redis/client')
  } catch (cause) {
    throw new VarveError('INVALID_OPTION', "a store in Redis needs '@redis/client': run 'npm install --save-dev @redis/client'", { cause })
  }
}

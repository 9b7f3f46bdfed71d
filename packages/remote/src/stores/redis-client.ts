/** Redis: a client for one server or for a cluster, neither of which connects again on its own, and the connection that a store has, which does. */
import type * as client from '@redis/client'
import { VarveError } from 'varve'
import { installedPackage } from 'varve/internal'
import { isLoopback } from './http.ts'
import { Timeout, transportCode } from '../error-code.ts'
import { invalidOption } from '../options.ts'
import { budgetOf } from './store.ts'

/** Credentials of Redis. A server with only a password has no username. */
export interface RedisCredentials {
  readonly username?: string | undefined
  readonly password: string
}

export interface RedisAddress {
  readonly url: string
  /** Addresses of other servers of the cluster, `host:port`. */
  readonly known: readonly string[]
  readonly credentials: RedisCredentials | undefined
  readonly connectMs: number
  /** Connections to other machines are accepted, although they have no TLS. */
  readonly allowInsecure: boolean
}

export type Arguments = readonly (string | Buffer)[]

export interface RedisClient {
  connect(): Promise<unknown>
  /** The servers of the cluster; none for one server. */
  known(): readonly string[]
  /** The number of servers that have keys of their own. */
  servers(): number
  /** Sends to a server by its number, or to the one that has the key of the command. */
  send(args: Arguments, server: number | undefined): Promise<unknown>
  ref(): void
  unref(): void
  destroy(): void
}

export async function openServer({ url, credentials, connectMs }: RedisAddress): Promise<RedisClient> {
  const { createClient, RESP_TYPES } = await loadRedis()
  const single = createClient({ url, ...optionsOf(credentials, connectMs), RESP: 2 })
  single.on('error', ignore)
  const buffers = single.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
  return {
    connect: () => single.connect(),
    known: () => [],
    servers: () => 1,
    send: (args) => buffers.sendCommand(args),
    ref: () => single.ref(),
    unref: () => single.unref(),
    destroy: () => {
      if (single.isOpen) single.destroy()
    },
  }
}

/** Connects to a server of the cluster when a command needs it, so one that is down fails only what it has. */
export async function openCluster({
  url,
  known,
  credentials,
  connectMs,
  allowInsecure,
}: RedisAddress): Promise<RedisClient> {
  const { createCluster, RESP_TYPES } = await loadRedis()
  const { protocol } = new URL(url)
  const { socket, ...options } = optionsOf(credentials, connectMs)
  let refused: VarveError | undefined
  const nodeAddressMap = (address: string): undefined => {
    if (protocol === 'redis:' && !allowInsecure && !isLoopback(hostOf(address))) throw (refused = elsewhere(address))
  }
  const unlessRefused = (error: unknown): never => {
    throw refused ?? error
  }
  const cluster = createCluster({
    // The connection that asks for the servers is one that `destroy` does not know.
    rootNodes: [url, ...known.map((address) => `${protocol}//${address}`)].map((each) => ({
      url: each,
      socket: { socketTimeout: connectMs },
    })),
    nodeAddressMap,
    defaults: { ...options, socket: protocol === 'rediss:' ? { ...socket, tls: true } : socket },
    minimizeConnections: true,
    RESP: 2,
  })
  cluster.on('error', ignore)
  cluster.on('node-error', ignore)
  const mapping = { [RESP_TYPES.BLOB_STRING]: Buffer }
  const buffers = cluster.withTypeMapping(mapping)
  const clients = () => [...cluster.nodeByAddress.values()].map((node) => node.client)
  return {
    connect: () => cluster.connect().catch(unlessRefused),
    known: () => [...cluster.nodeByAddress.keys()],
    servers: () => cluster.masters.length,
    send: async (args, server) => {
      const node = server === undefined ? undefined : cluster.masters[server]
      if (node === undefined) return buffers.sendCommand(keyOf(args), false, [...args]).catch(unlessRefused)
      return (await cluster.nodeClient(node)).withTypeMapping(mapping).sendCommand(args)
    },
    ref: () => clients().forEach((each) => each?.ref()),
    unref: () => clients().forEach((each) => each?.unref()),
    destroy: () => {
      if (cluster.isOpen) cluster.destroy()
    },
  }
}

/** The host in the address of a server, as URLs have it. */
function hostOf(address: string): string {
  const host = address.slice(0, address.lastIndexOf(':'))
  return host.includes(':') ? `[${host}]` : host
}

function elsewhere(address: string): VarveError {
  const risk = 'everyone on the way could read credentials and values'
  const fix = "Use rediss, or set 'allowInsecure: true'"
  return new VarveError(
    'INVALID_OPTION',
    `the cluster of redis() names the server '${address}', without TLS: ${risk}. ${fix}`,
  )
}

function optionsOf(credentials: RedisCredentials | undefined, connectMs: number) {
  const { username, password } = credentials ?? {}
  const account = { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) }
  const socket = { connectTimeout: connectMs, reconnectStrategy: false } as const
  return { ...account, socket, disableOfflineQueue: true }
}

function keyOf(args: Arguments): string | Buffer | undefined {
  return args[0] === 'EVAL' ? args[3] : args[1]
}

/** The commands that fail report it. */
function ignore(): void {}

async function loadRedis(): Promise<typeof client> {
  const loaded: typeof client = await import(
    /* webpackIgnore: true */ installedPackage('@redis/client', import.meta.url)
  )
  return loaded
}

// What a store has of Redis: a connection to a server or to a cluster, opened at the first request:
//
//   1. Commands are sent without waiting for the replies of earlier ones.
//   2. A connection that fails is replaced, and the command is sent once more. One that takes longer than its budget is closed.
//   3. A server that names another one for a key (MOVED) is part of a cluster: the connection is opened again, to all of it.
//   4. Only commands that are under way keep the process running. Once no caller waits for any of them, the connection is closed.

type CredentialsOption = RedisCredentials | (() => RedisCredentials | Promise<RedisCredentials>)

const ATTEMPTS = 2

/** Replies that refuse the credentials, or what they allow. */
const DENIED: ReadonlySet<string> = new Set(['NOAUTH', 'WRONGPASS', 'NOPERM', 'READONLY'])

export class RedisConnection {
  readonly #label: string
  readonly #url: string
  readonly #requestMs: number
  readonly #credentials: CredentialsOption | undefined
  readonly #allowInsecure: boolean
  #open: (address: RedisAddress) => Promise<RedisClient> = openServer
  /** The servers of a cluster that answered last; one of them may have gone. */
  #known: readonly string[] = []
  #client: Promise<RedisClient> | undefined
  /** Commands without a reply, and callers that wait for one. */
  #pending = 0
  #waiting = 0
  #connecting: RedisClient | undefined

  constructor(
    label: string,
    url: string,
    requestMs: number,
    credentials: CredentialsOption | undefined,
    allowInsecure: boolean,
  ) {
    this.#allowInsecure = allowInsecure
    this.#label = label
    this.#url = url
    this.#requestMs = requestMs
    this.#credentials = credentials
  }

  /**
   * Sends a command that transfers about so many bytes. `name` is the blob, for messages, which contain nothing else of the command.
   * Without a number of a server, the key of the command chooses it.
   */
  async send(
    name: string,
    args: Arguments,
    bytes: number,
    signal: AbortSignal | undefined,
    server?: number,
  ): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted()
      const open = this.#open
      const client = (this.#client ??= this.#connect().catch((error: unknown) => {
        this.#client = undefined
        throw error
      }))
      try {
        this.#waiting++
        return await within(this.#run(client, args, server), budgetOf(this.#requestMs, bytes), signal)
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason
        if (error instanceof VarveError) throw error
        const reply = replyCode(error)
        if (reply === 'MOVED' && open === openServer) {
          this.#becomeCluster()
          continue
        }
        if (reply === undefined) this.#close(client)
        if (reply !== undefined || error instanceof Timeout || attempt === ATTEMPTS)
          throw this.#failure(name, args[0], reply, error)
      } finally {
        // A server that owes a reply to no caller would keep the process running, and so would one that takes long to connect.
        if (--this.#waiting === 0) {
          this.#connecting?.destroy()
          if (this.#pending > 0) this.#close(client)
        }
      }
    }
  }

  /** The number of servers that have keys of their own. */
  async servers(name: string, signal: AbortSignal | undefined): Promise<number> {
    const information = String(await this.send(name, ['INFO', 'cluster'], 0, signal))
    if (information.includes('cluster_enabled:1') && this.#open === openServer) {
      this.#becomeCluster()
      await this.send(name, ['INFO', 'cluster'], 0, signal)
    }
    return (await this.#client)?.servers() ?? 1
  }

  /** Treats the server as one of a cluster from now on. */
  #becomeCluster(): void {
    if (this.#open === openCluster) return
    this.#open = openCluster
    if (this.#client !== undefined) this.#close(this.#client)
  }

  async #connect(): Promise<RedisClient> {
    const credentials = typeof this.#credentials === 'function' ? await this.#credentials() : this.#credentials
    const more = { connectMs: this.#requestMs, allowInsecure: this.#allowInsecure }
    const client = await this.#open({ url: this.#url, known: this.#known, credentials, ...more })
    this.#connecting = client
    client.unref()
    try {
      await within(client.connect(), this.#requestMs, undefined)
    } catch (error) {
      client.destroy()
      throw error
    } finally {
      this.#connecting = undefined
    }
    this.#known = client.known()
    client.unref()
    return client
  }

  async #run(opening: Promise<RedisClient>, args: Arguments, server: number | undefined): Promise<unknown> {
    const client = await opening
    this.#pending++
    client.ref()
    try {
      return await client.send(args, server)
    } finally {
      if (--this.#pending === 0) client.unref()
    }
  }

  #close(failed: Promise<RedisClient>): void {
    if (this.#client === failed) this.#client = undefined
    failed.then((client) => client.destroy()).catch(() => undefined)
  }

  #failure(name: string, command: string | Buffer | undefined, reply: string | undefined, error: unknown): VarveError {
    const failed = `cannot ${String(command)} '${name}' at ${this.#label}`
    if (reply !== undefined && DENIED.has(reply)) {
      return new VarveError('REMOTE_DENIED', `${failed}: ${reply}. Check the credentials and what they allow`)
    }
    return new VarveError(
      'REMOTE_UNAVAILABLE',
      `${failed}: ${reply ?? (error instanceof Timeout ? error.message : transportCode(error))}`,
      error instanceof Timeout ? { cause: error } : {},
    )
  }
}

/** The outcome of `work`; rejects after `ms`, or when the signal aborts. The work goes on. */
async function within<T>(work: Promise<T>, ms: number, signal: AbortSignal | undefined): Promise<T> {
  let end: (error: unknown) => void = () => undefined
  const ended = new Promise<never>((_, reject) => (end = reject))
  const timer = setTimeout(() => end(new Timeout(`no complete answer within ${Math.ceil(ms)} ms`)), ms)
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

/** The address of a server. Throws INVALID_OPTION for credentials in it, and without TLS for another machine. */
export function redisUrl(given: string, allowInsecure: boolean): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (
    url === undefined ||
    !/^rediss?:$/.test(url.protocol) ||
    url.hostname === '' ||
    !/^(?:\/\d{0,4})?$/.test(url.pathname)
  ) {
    throw invalidOption("option 'url' of redis()", "an address such as 'rediss://cache.example.com:6379/0'")
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new VarveError(
      'INVALID_OPTION',
      "option 'url' of redis() has credentials, a query or a fragment; pass credentials in option 'credentials'",
    )
  }
  if (url.protocol === 'redis:' && !isLoopback(url.hostname) && !allowInsecure) {
    const risk = 'everyone on the way could read credentials and values'
    throw new VarveError(
      'INVALID_OPTION',
      `option 'url' of redis() has no TLS to '${url.host}': ${risk}. Use rediss, or set 'allowInsecure: true'`,
    )
  }
  return url
}

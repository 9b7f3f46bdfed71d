/** The client of `@redis/client`, for one server and for a cluster. Neither connects again on its own: `RedisConnection` does. */
import type * as client from '@redis/client'
import { VarveError } from 'varve'
import { installedPackage } from 'varve/internal'
import { isLoopback } from './http.ts'

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

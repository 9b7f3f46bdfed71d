/** Machines that share caches through a remote: each has its own cache and its own directory of layers. */
import { join } from 'node:path'
import {
  type BlobStore,
  directory,
  type Fetched,
  generateKeys,
  type Head,
  type Listed,
  openRemote,
  type OpenRemote,
  pull,
  push,
  type PushReport,
  type PutOptions,
  type PutOutcome,
  type Remote,
  type RemoteOptions,
} from '@varve/remote'
import { openCache } from 'varve'
import { makeFolder } from '../folders.ts'

export const KEYS = generateKeys()

export type Entries = Readonly<Record<string, string | null>>

export function newStore(): BlobStore {
  return directory(join(makeFolder(), 'store'))
}

interface Blob {
  readonly bytes: Uint8Array
  readonly version: number
  readonly modified: number
}

/** A store in memory, for tests that make many. */
export class MemoryStore implements BlobStore {
  readonly label = 'memory'
  readonly capabilities = {
    range: true,
    createOnly: true,
    compareAndSwap: true,
    list: true,
    delete: true,
    bytesMax: 2 ** 31,
  }
  readonly blobs: Map<string, Blob>

  constructor(blobs: ReadonlyMap<string, Blob> = new Map()) {
    this.blobs = new Map(blobs)
  }

  async get(name: string): Promise<Fetched | undefined> {
    const found = this.blobs.get(name)
    return found === undefined ? undefined : { bytes: found.bytes.slice(), etag: String(found.version) }
  }

  async head(name: string): Promise<Head | undefined> {
    const found = this.blobs.get(name)
    return found === undefined ? undefined : { size: found.bytes.length, etag: String(found.version) }
  }

  async put(name: string, bytes: Uint8Array, { ifAbsent, ifMatch }: PutOptions = {}): Promise<PutOutcome> {
    const version = this.blobs.get(name)?.version ?? 0
    if (ifAbsent === true && version > 0) return 'exists'
    if (ifMatch !== undefined && ifMatch !== String(version)) return 'conflict'
    this.blobs.set(name, { bytes: bytes.slice(), version: version + 1, modified: Date.now() })
    return 'stored'
  }

  async *list(prefix: string): AsyncIterable<Listed> {
    for (const [name, { bytes, modified }] of this.blobs)
      if (name.startsWith(prefix)) yield { name, size: bytes.length, modified }
  }

  async delete(names: readonly string[]): Promise<void> {
    for (const name of names) this.blobs.delete(name)
  }

  /** Sets the time of the last write of all blobs, or of one, to so many milliseconds ago. */
  age(ms: number, only?: string): void {
    for (const [name, blob] of this.blobs)
      if (only === undefined || name === only) this.blobs.set(name, { ...blob, modified: Date.now() - ms })
  }
}

/** A machine with an empty cache. */
export class Machine {
  readonly folder: string = makeFolder()
  readonly dir: string = join(this.folder, 'cache/tool')
  readonly store: BlobStore
  readonly engine: 'native' | 'wasm'

  constructor(store: BlobStore, engine: 'native' | 'wasm' = 'native') {
    this.store = store
    this.engine = engine
  }

  remote(options: Partial<RemoteOptions> = {}): OpenRemote {
    return openRemote({
      store: this.store,
      dir: join(this.folder, 'layers'),
      trustedKeys: [KEYS.publicKey],
      ...options,
    })
  }

  writer(options: Partial<RemoteOptions> = {}): OpenRemote {
    return this.remote({ mode: 'read-write', signingKey: KEYS.signingKey, ...options })
  }

  /** Puts entries; null deletes one. */
  async put(entries: Entries, layers: readonly string[] = []): Promise<this> {
    const cache = await openCache({ name: 'tool', dir: this.dir, engine: this.engine, layers })
    const space = cache.namespace('n', { codec: 'text' })
    for (const [key, value] of Object.entries(entries)) {
      if (value === null) space.delete(key)
      else space.put(key, value)
    }
    await cache.commit()
    await cache.close()
    return this
  }

  push(options: { readonly commit?: string } = {}, remote: Remote = this.writer()): Promise<PushReport> {
    return push(remote, { caches: [{ name: 'tool', dir: this.dir }], ...options })
  }

  async pullPaths(remote: Remote = this.remote(), commits: readonly string[] = []): Promise<string[]> {
    return (await pull(remote, { commits })).layers.map(({ path }) => path)
  }

  /** Pulls, and reads everything over the layers. */
  async read(remote: Remote = this.remote(), commits: readonly string[] = []): Promise<Record<string, string>> {
    const layers = await this.pullPaths(remote, commits)
    const cache = await openCache({ name: 'tool', dir: this.dir, engine: this.engine, layers, strict: true })
    const found = [...cache.namespace('n', { codec: 'text' }).entries()]
    await cache.close()
    return Object.fromEntries(found.map(([key, value]) => [String(key), value]))
  }
}

/** A store that counts calls and lets a test change or fail them. */
export function watched(
  store: BlobStore,
  before: (call: 'get' | 'head' | 'put' | 'list' | 'delete', name: string) => void | Promise<void>,
): BlobStore {
  return {
    label: store.label,
    capabilities: store.capabilities,
    get: async (name, options) => (await before('get', name), store.get(name, options)),
    head: async (name, options) => (await before('head', name), store.head(name, options)),
    put: async (name, bytes, options) => (await before('put', name), store.put(name, bytes, options)),
    async *list(prefix, options) {
      await before('list', prefix)
      yield* store.list?.(prefix, options) ?? []
    },
    delete: async (names, options) => (await before('delete', names.join()), store.delete?.(names, options)),
  }
}

/** The same store, if it could not replace a head safely. */
export function withoutHead(store: BlobStore): BlobStore {
  return {
    ...watched(store, () => undefined),
    capabilities: { ...store.capabilities, createOnly: false, compareAndSwap: false },
  }
}

/** Names of all objects of a store. */
export async function namesOf(store: BlobStore): Promise<string[]> {
  const names = []
  for await (const { name } of store.list?.('') ?? []) names.push(name)
  return names
}

/** Objects that no manifest names. */
export async function danglingOf(store: BlobStore): Promise<string[]> {
  const names = await namesOf(store)
  const texts = await Promise.all(
    names.map(async (name) => Buffer.from((await store.get(name))?.bytes ?? []).toString('latin1')),
  )
  const isNamed = (digest: string): boolean =>
    texts.some((text, index) => !names[index]?.includes('/chunk/') && text.includes(digest))
  return names.filter((name) => /\/(?:chunk|layer)\//.test(name) && !isNamed(name.split('/').at(-1) ?? ''))
}

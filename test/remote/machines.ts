/** Machines that share caches through a remote: each has its own cache and its own directory of layers. */
import { join } from 'node:path'
import { type BlobStore, directory, generateKeys, openRemote, pull, push, type PushReport, type Remote, type RemoteOptions } from '@varve/remote'
import { openCache } from 'varve'
import { makeFolder } from '../folders.ts'

export const KEYS = generateKeys()

export type Entries = Readonly<Record<string, string | null>>

export function newStore(): BlobStore {
  return directory(join(makeFolder(), 'store'))
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

  remote(options: Partial<RemoteOptions> = {}): Remote {
    return openRemote({ store: this.store, dir: join(this.folder, 'layers'), trustedKeys: [KEYS.publicKey], ...options })
  }

  writer(options: Partial<RemoteOptions> = {}): Remote {
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
export function watched(store: BlobStore, before: (call: 'get' | 'head' | 'put', name: string) => void | Promise<void>): BlobStore {
  return {
    label: store.label,
    capabilities: store.capabilities,
    get: async (name, options) => (await before('get', name), store.get(name, options)),
    head: async (name, options) => (await before('head', name), store.head(name, options)),
    put: async (name, bytes, options) => (await before('put', name), store.put(name, bytes, options)),
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
  const texts = await Promise.all(names.map(async (name) => Buffer.from((await store.get(name))?.bytes ?? []).toString('latin1')))
  const isNamed = (digest: string): boolean => texts.some((text, index) => !names[index]?.includes('/chunk/') && text.includes(digest))
  return names.filter((name) => /\/(?:chunk|layer)\//.test(name) && !isNamed(name.split('/').at(-1) ?? ''))
}

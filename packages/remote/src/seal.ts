/**
 * Seals what a publication adds to a scope:
 *
 *   1. A cache is opened over all layers that readers have, and sealed since them: its delta. Without a delta nothing is added.
 *   2. If the delta is to be merged with the newest layers (`manifest.ts`), the same cache is sealed since the other layers instead.
 *
 * A layer that cannot be read whole is never merged, because what it has would be lost for all.
 */
import { join } from 'node:path'
import { type Cache, type CacheOptions, openCache, VarveError } from 'varve'
import { countToMerge, type RemoteLayer } from './manifest.ts'
import { bytesOf } from './layer.ts'
import { type NamedLayer, pathOf } from './pull.ts'
import type { Remote } from './remote.ts'
import { makeDirectory, disk } from './host.ts'

/** A cache to publish; its other fields are options of `openCache`. */
export type PushedCache = Pick<CacheOptions, 'name' | 'secret' | 'engine'> & { readonly dir: string }

/** The layers of a cache on this machine, the newest first. */
export interface CacheBase {
  /** Those of the scope that is written. */
  readonly own: readonly RemoteLayer[]
  /** Those of the scopes below it. */
  readonly below: readonly NamedLayer[]
}

/** A change that is not published yet. */
export interface Sealed extends Pick<RemoteLayer, 'cache' | 'entries' | 'deletes'> {
  readonly directory: string
  readonly replaces: readonly RemoteLayer[]
}

/** How a cache is sealed. */
export interface Sealing {
  readonly shared: boolean | undefined
  /** A directory for what is sealed. */
  readonly temporary: string
  readonly signal: AbortSignal
}

/** A delta below this size is left out if small ones are. A cache that has little in the remote publishes what is a quarter of that. */
const DELTA_MIN = 262_144
const QUARTER = 4

/** Most bytes that are merged without being asked. `compact` merges more. */
const MERGE_MAX: number = 256 << 20

/** The change of a cache with entries of its own; undefined if there is none. */
export async function sealDelta(
  remote: Remote,
  cache: PushedCache,
  base: CacheBase,
  { skipsSmall, isMerged, ...sealing }: Sealing & { readonly skipsSmall: boolean; readonly isMerged: boolean },
): Promise<Sealed | undefined> {
  return withCache(remote, cache, base, sealing, async (open) => {
    const directory = join(sealing.temporary, 'delta', cache.name)
    const since = pathsOf(remote, base.own, base.below)
    const delta = await open.seal(directory, { since, signal: sealing.signal })
    const isSmall = delta.bytes < Math.min(DELTA_MIN, bytesOf(base.own) / QUARTER)
    if (delta.entries + delta.deletes === 0 || (skipsSmall && isSmall)) return undefined
    const count = isMerged ? countToMerge(base.own, delta, MERGE_MAX) : 0
    const merged = count === 0 ? undefined : await sealMerged(remote, open, base, count, sealing)
    return merged ?? { cache: cache.name, entries: delta.entries, deletes: delta.deletes, directory, replaces: [] }
  })
}

/** The change that merges layers of a cache; undefined if there is nothing to merge, or a layer cannot be read whole. */
export async function sealLayers(
  remote: Remote,
  name: string,
  base: CacheBase,
  { isFull, ...sealing }: Sealing & { readonly isFull: boolean },
): Promise<Sealed | undefined> {
  const nothing = { bytes: 0, entries: 0, deletes: 0 }
  const count = isFull ? base.own.length : countToMerge(base.own, nothing, Number.MAX_SAFE_INTEGER)
  if (count < 2) return undefined
  const empty = { name, dir: join(sealing.temporary, 'empty', name) }
  return withCache(remote, empty, base, sealing, (open) => sealMerged(remote, open, base, count, sealing))
}

async function sealMerged(
  remote: Remote,
  open: Cache,
  { own, below }: CacheBase,
  count: number,
  sealing: Sealing,
): Promise<Sealed | undefined> {
  const replaces = own.slice(0, count)
  const kept = own.slice(count)
  const cache = own[0]?.cache ?? ''
  const directory = join(sealing.temporary, 'merged', cache)
  const { entries, deletes } = await open.seal(directory, {
    since: pathsOf(remote, kept, below),
    signal: sealing.signal,
  })
  const { layers, damage } = open.status()
  const isWhole = damage.length === 0 && layers.every(({ problem }) => problem === null)
  return isWhole ? { cache, entries, deletes, directory, replaces } : undefined
}

async function withCache<T>(
  remote: Remote,
  cache: PushedCache,
  { own, below }: CacheBase,
  { shared, temporary }: Pick<Sealing, 'shared' | 'temporary'>,
  work: (open: Cache) => Promise<T>,
): Promise<T> {
  await makeDirectory(temporary, 0o700)
  const open = await openCache({ ...cache, layers: pathsOf(remote, own, below), readOnly: true, remote: false, shared })
  try {
    checkDomain(remote, cache, open)
    return await work(open)
  } finally {
    await open.close()
  }
}

/** A trusted scope does not get what may come from an untrusted one. Throws REMOTE_UNTRUSTED. */
function checkDomain({ scopes: [scope] }: Remote, { dir }: PushedCache, open: Cache): void {
  if (!scope.isTrusted || open.status().domain === 'trusted') return
  const why = 'it has, or had, layers of an untrusted scope below it, so its results may come from there'
  const fix = 'Build again with another directory, or remove this one'
  throw new VarveError('REMOTE_UNTRUSTED', `the cache '${dir}' is not published to '${scope.name}': ${why}. ${fix}`)
}

/** The paths of layers of the scope that is written, then of those below it. */
function pathsOf(remote: Remote, own: readonly RemoteLayer[], below: readonly NamedLayer[]): string[] {
  const {
    scopes: [scope],
  } = remote
  return [...own.map((layer) => ({ layer, scope })), ...below].map((each) => pathOf(remote, each))
}

/** Runs `work` with a new directory beside the layers, and removes it. */
export async function withTemporary<T>(temporary: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    await disk.promises.rm(temporary, { recursive: true, force: true })
  }
}

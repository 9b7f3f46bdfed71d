/**
 * Publishes what caches have and a remote lacks: reads the head, fetches its layers, seals each cache since them (`seal.ts`), and publishes
 * the changes (`publish.ts`). If others publish at the same time, it may have to begin again; from the third attempt on it merges nothing, and
 * a delta on top of what others have published always succeeds.
 */
import type { RemotePushJson } from 'varve/cli-json'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { VarveError } from 'varve'
import { isSame, type Manifest, type RemoteLayer } from './manifest.ts'
import { readManifest } from './heads.ts'
import { BOOLEAN, type Field, type Fields, TEXT, TEXTS } from 'varve/internal'
import { checkCall, CONTROL, invalidOption } from './options.ts'
import { type Publication, publish, updateHead } from './publish.ts'
import { fetchLayers, manifestsOf, MissingObject, namedIn, type NamedLayer, type RemoteControl } from './pull.ts'
import { manifestName, type Remote, type Scope, withinBudget } from './remote.ts'
import {
  type CacheBase,
  type PushedCache,
  sealDelta,
  type Sealed,
  type Sealing,
  sealLayers,
  withTemporary,
} from './seal.ts'

/** Options of `push`. */
export interface PushOptions extends RemoteControl {
  readonly caches: readonly PushedCache[]
  /**
   * Hash of the commit that was built: readers find its manifest even if the store has no head.
   * @defaultValue the first of option `commits` of `openRemote` if the store has no head
   */
  readonly commit?: string | undefined
  /**
   * Commits whose manifests are the base if the store has no head, as in `pull`.
   * @defaultValue option `commits` of `openRemote`
   */
  readonly commits?: readonly string[] | undefined
  /** Option `shared` of `openCache`. */
  readonly shared?: boolean | undefined
  /**
   * Leaves out a delta of less than 256 KiB, unless it is at least a quarter of what the remote has of the cache.
   * @defaultValue `false`
   */
  readonly skipSmall?: boolean | undefined
}

const CACHES: Field = [
  'an array of caches, each with its name and directory',
  (value) => Array.isArray(value) && value.every(isPushed),
]
const PUSH_FIELDS: Fields<PushOptions> = {
  ...CONTROL,
  caches: CACHES,
  commit: TEXT,
  commits: TEXTS,
  shared: BOOLEAN,
  skipSmall: BOOLEAN,
}
const COMPACT_FIELDS: Fields<RemoteCompactOptions> = {
  ...CONTROL,
  full: BOOLEAN,
  shared: BOOLEAN,
}

function isPushed(cache: unknown): boolean {
  return (
    typeof cache === 'object' &&
    cache !== null &&
    ['name', 'dir'].every((field) => typeof Reflect.get(cache, field) === 'string')
  )
}

/** The outcome of `push`. */
export type PushReport = Omit<RemotePushJson, 'format'>

/** Options of `compact`. */
export interface RemoteCompactOptions extends RemoteControl {
  /**
   * Merges all layers of each cache into one. Every reader then fetches everything again.
   * @defaultValue `false`: merges those that are not larger than all newer ones together
   */
  readonly full?: boolean | undefined
  /** Option `shared` of `openCache`. */
  readonly shared?: boolean | undefined
}

/** Attempts to publish while others do, and how many of them may merge layers. */
const ATTEMPTS = 10
const MERGING_ATTEMPTS = 2

/**
 * Publishes the committed entries of caches. Rejects with READ_ONLY unless the remote has mode `'read-write'`; with
 * REMOTE_UNAVAILABLE, REMOTE_DENIED, REMOTE_UNTRUSTED (the head is not one that this machine trusts), BUSY, CANCELLED or IO.
 */
export async function push(remote: Remote, options: PushOptions): Promise<PushReport> {
  checkCall('push', remote, options, PUSH_FIELDS)
  if (options.caches === undefined) throw invalidOption("option 'caches'", CACHES[0])
  const { caches, shared, skipSmall = false, ...control } = options
  const {
    scopes: [scope],
  } = remote
  const [commit = '', ...commits] = await commitsOf(remote, options)
  return asPublisher(remote, commit, control, async (one) => {
    const { key, signal } = one
    const known =
      commit === '' ? undefined : await readManifest(remote, scope, manifestName(scope, commit, key.id), signal)
    const nothing = {
      outcome: known === undefined ? 'unchanged' : 'exists',
      generation: 0,
      layers: [],
      sentBytes: 0,
    } as const
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const base = await baseOf(
        one,
        [commit, ...commits].filter((each) => each !== ''),
        caches.map(({ name }) => name),
      )
      const sealing = { shared, signal, skipsSmall: skipSmall, isMerged: attempt <= MERGING_ATTEMPTS }
      const published = await withSealed(one, async (temporary) => {
        const sealed: Sealed[] = []
        for (const cache of caches) {
          const change = await sealDelta(remote, cache, base.of(cache.name), { ...sealing, temporary })
          if (change !== undefined) sealed.push(change)
        }
        return sealed.length === 0 && (commit === '' || known !== undefined)
          ? nothing
          : publish(one, base.manifest, sealed, control)
      })
      if (published !== undefined) return published
    }
    throw busy(scope)
  })
}

/** The commit that is published, and those whose manifests are the base. Rejects with INVALID_ARGUMENT if the store needs one and there is none. */
async function commitsOf(
  remote: Remote,
  { commit, commits }: Pick<PushOptions, 'commit' | 'commits'>,
): Promise<readonly string[]> {
  const {
    store: { capabilities, label },
    signingKey,
  } = remote
  if (capabilities.compareAndSwap || signingKey === undefined) return [commit ?? '', ...(commits ?? [])]
  const known = commits ?? (await remote.commits())
  if (commit !== undefined && commit !== '') return [commit, ...known]
  if (known.length > 0) return known
  const fix = 'Publish in a Git repository, or name the commit that was built (--commit)'
  throw new VarveError(
    'INVALID_ARGUMENT',
    `${label} cannot replace a head safely, so only commits are published, and none is known. ${fix}`,
  )
}

/**
 * Merges layers of the scope, so that readers have fewer to fetch. `push` does so itself up to 256 MiB. Rejects as `push` does. Caches with
 * a secret are merged if `VARVE_SECRET` has it.
 */
export async function compact(remote: Remote, options: RemoteCompactOptions = {}): Promise<PushReport> {
  checkCall('compact', remote, options, COMPACT_FIELDS)
  const { full = false, shared, ...control } = options
  const [commit = ''] = await commitsOf(remote, {})
  return asPublisher(remote, commit, control, async (one) => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const base = await baseOf(one, [], undefined)
      const names = [...new Set((base.manifest?.layers ?? []).map(({ cache }) => cache))]
      const published = await withSealed(one, async (temporary) => {
        const sealing: Sealing = { shared, signal: one.signal, temporary }
        const sealed = await Promise.all(
          names.map((name) => sealLayers(remote, name, base.of(name), { ...sealing, isFull: full })),
        )
        const changes = sealed.filter((each) => each !== undefined)
        const nothing = {
          outcome: 'unchanged',
          generation: base.manifest?.generation ?? 0,
          layers: [],
          sentBytes: 0,
        } as const
        return changes.length === 0 ? nothing : publish(one, base.manifest, changes, control)
      })
      if (published !== undefined) return published
    }
    throw busy(one.scope)
  })
}

/** Runs `work` for a publisher whose key readers accept, within the budget. Rejects with READ_ONLY. */
export async function asPublisher<T>(
  remote: Remote,
  commit: string,
  { signal: caller }: RemoteControl,
  work: (one: Publication) => Promise<T>,
): Promise<T> {
  const {
    signingKey: key,
    scopes: [scope],
  } = remote
  if (key === undefined)
    throw new VarveError('READ_ONLY', "the remote is only read; publish with mode 'read-write' and a signing key")
  checkOwnKey(scope, key)
  return withinBudget(remote, caller, (signal) => work({ remote, scope, key, commit, signal }))
}

/** A publisher whose key readers do not accept would publish in vain, and block those that are accepted. */
function checkOwnKey({ keys, name }: Scope, { id }: Publication['key']): void {
  if (keys === 'none' || keys.some((key) => key.id === id)) return
  throw new VarveError(
    'INVALID_OPTION',
    `the signing key ${id} is not one of the trusted keys, so readers of '${name}' would refuse it`,
  )
}

/** What readers have. */
interface Base {
  /** The manifest of the scope. */
  readonly manifest: Manifest | undefined
  /** The layers of a cache, on this machine. */
  readonly of: (cache: string) => CacheBase
}

/**
 * Fetches what readers have of these caches, or of all. If a store has lost an object, no fresh machine can use its layer nor the newer ones
 * of its cache, so the publication is made without them:
 *
 *   a store with a head       the head loses them, and keeps the older ones, which are an earlier state
 *   a store without a head    the publication begins again with nothing, because such a store removes what was not used for long
 *   a scope below             belongs to other publishers, so only this publication does without
 */
async function baseOf(
  one: Publication,
  commits: readonly string[],
  caches: readonly string[] | undefined,
): Promise<Base> {
  const { remote, scope, signal } = one
  const lost: NamedLayer[] = []
  for (;;) {
    const found = await manifestsOf(remote, commits, signal)
    const wanted = namedIn(found).filter(({ layer }) => caches === undefined || caches.includes(layer.cache))
    const named = withoutLost(wanted, lost)
    try {
      await fetchLayers(remote, named, { signal })
      return baseFrom(scope, found[0]?.manifest, named)
    } catch (error) {
      if (!(error instanceof MissingObject) || error.named === undefined) throw error
      const manifest = found[0]?.manifest
      if (!remote.store.capabilities.compareAndSwap)
        return baseFrom(scope, manifest === undefined ? undefined : { ...manifest, layers: [] }, [])
      lost.push(error.named)
      if (error.named.scope === scope) await leaveOut(one, error.named.layer)
    }
  }
}

function baseFrom(scope: Scope, manifest: Manifest | undefined, named: readonly NamedLayer[]): Base {
  const layersOf = (cache: string, isOwn: boolean): NamedLayer[] =>
    named.filter((each) => each.layer.cache === cache && (each.scope === scope) === isOwn)
  return {
    manifest,
    of: (cache) => ({ own: layersOf(cache, true).map(({ layer }) => layer), below: layersOf(cache, false) }),
  }
}

/** The layers without those that are lost, and the newer ones of the same cache and scope. */
function withoutLost(named: readonly NamedLayer[], lost: readonly NamedLayer[]): readonly NamedLayer[] {
  return lost.reduce<readonly NamedLayer[]>((left, { layer, scope }) => {
    const at = left.findIndex((each) => each.scope === scope && isSame(each.layer, layer))
    return left.filter((each, index) => index > at || each.scope !== scope || each.layer.cache !== layer.cache)
  }, named)
}

/** Replaces the head by one without a layer that is lost, and without the newer ones of its cache. */
async function leaveOut(one: Publication, lost: RemoteLayer): Promise<void> {
  await updateHead(one, (manifest) => {
    const at = manifest.layers.findIndex((layer) => isSame(layer, lost))
    if (at === -1) return undefined // another publisher was first
    const layers = manifest.layers.filter((layer, index) => index > at || layer.cache !== lost.cache)
    return { ...manifest, layers, added: [] }
  })
}

function withSealed<T>({ remote }: Publication, work: (temporary: string) => Promise<T>): Promise<T> {
  const temporary = join(remote.dir, `.${randomUUID()}.tmp`)
  return withTemporary(temporary, () => work(temporary))
}

function busy({ name }: Scope): VarveError {
  return new VarveError('BUSY', `other publishers changed '${name}' ${ATTEMPTS} times; publish again`)
}

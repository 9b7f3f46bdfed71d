/**
 * Takes things out of a remote: garbage collection removes objects of a domain that no head names, and `revoke` takes layers from all readers.
 *
 *   1. The collector writes `v1/<domain>/clock`, whose time is the store's present time, and lists the domain. A list is read as a stream, once for
 *      its heads and time and once for garbage, because a store may have, or claim, any number of objects.
 *   2. It marks what the heads of all scopes name: layers and their chunks. A head or description that it cannot verify ends it.
 *   3. What is not marked and older than the grace is written to the sweep. Publishers then do not rely on it (`publish.ts`).
 *   4. It replaces each head by one with the same layers and a new generation, and marks what these name.
 *   5. It removes what is still not marked, and writes an empty sweep.
 *
 * A collector that ends at any point leaves at most a sweep. Publishers that need what it names wait for the next collector, which
 * takes over when the budget of the first one is over.
 */
import type { RemoteGcJson, RemoteRevokeJson } from 'varve/cli-json'
import { VarveError } from 'varve'
import { forEachAtOnce } from './host.ts'
import { readManifest, readCommits } from './heads.ts'
import { bytesOf } from './layer.ts'
import { type Manifest, type RemoteLayer, REVOKED_MAX } from './manifest.ts'
import { BOOLEAN, type Fields } from 'varve/internal'
import { AGE_MS, checkCall, CONTROL } from './options.ts'
import { encodeSweep, type Publication, readSweep, sweepName, SWEPT_MAX, updateHead } from './publish.ts'
import { readDescription, type RemoteControl, manifestsOf } from './pull.ts'
import { asPublisher } from './push.ts'
import { chunkName, layerName, type Remote, type Scope } from './remote.ts'
import type { BlobStore, Listed } from './stores/store.ts'

/** Options of `gc`. */
export interface RemoteGcOptions extends RemoteControl {
  /**
   * Reports what would be removed, and writes nothing.
   * @defaultValue `false`
   */
  readonly dryRun?: boolean | undefined
  /**
   * Milliseconds for which an object is kept that no head names.
   * @defaultValue `86_400_000`, a day
   */
  readonly graceMs?: number | undefined
}

const GC_FIELDS: Fields<RemoteGcOptions> = { ...CONTROL, dryRun: BOOLEAN, graceMs: AGE_MS }

/** The outcome of `gc`. */
export type RemoteGcReport = Omit<RemoteGcJson, 'format'>

/** Milliseconds for which manifests of commits are kept: `revoke` finds publications by them. */
const MANIFEST_MS = 30 * 86_400_000

/** A store that can list and delete. */
type ListedStore = BlobStore & Required<Pick<BlobStore, 'list' | 'delete'>>

/**
 * Removes what no head of the domain of the scope names, at most 50,000 objects in one call. Rejects as `push` does; with INVALID_ARGUMENT if
 * the store cannot list, delete and replace heads; with BUSY while another collector is at work.
 */
export async function gc(remote: Remote, options: RemoteGcOptions = {}): Promise<RemoteGcReport> {
  checkCall('gc', remote, options, GC_FIELDS)
  const { dryRun = false, graceMs = 86_400_000, ...control } = options
  const store: BlobStore = remote.store
  checkListed(store)
  return asPublisher(remote, '', control, async (one) => {
    const { domain } = one.scope
    if (!dryRun) await store.put(`v1/${domain}/clock`, encodeSweep([], 0), { signal: one.signal })
    const listed = await survey(store, one)
    const live = await liveOf(one, listed.heads, new Set(), async (scope) => {
      return (await readManifest(remote, scope, `v1/${scope.name}/head`, one.signal))?.manifest
    })
    const keptMs = (name: string): number => (name.includes('/manifest/') ? Math.max(graceMs, MANIFEST_MS) : graceMs)
    const isGarbage = ({ name, modified }: Listed): boolean =>
      !live.has(name) && isObject(domain, name) && listed.nowMs - modified >= keptMs(name)
    const garbage = await garbageIn(store, one, isGarbage)
    const removed =
      dryRun || garbage.length === 0 ? garbage : await sweep(one, store, garbage, { live, listed, ...control })
    return {
      dryRun,
      objects: listed.objects,
      bytes: listed.bytes,
      removed: removed.length,
      removedBytes: sizeOf(removed),
    }
  })
}

function checkListed(store: BlobStore): asserts store is ListedStore {
  const { list, delete: remove, capabilities, label } = store
  if (list !== undefined && remove !== undefined && capabilities.compareAndSwap) return
  const fix = 'Let the server expire what is older than a branch lives'
  throw new VarveError(
    'INVALID_ARGUMENT',
    `${label} cannot list its objects and replace a head, so there is no garbage collection. ${fix}`,
  )
}

/** Most objects of a domain, heads in it, and objects that these name. */
const OBJECTS_MAX = 2_000_000
const HEADS_MAX = 10_000
const LIVE_MAX = 1_000_000

/** The answer to a list request, without the objects. */
interface Survey {
  readonly objects: number
  readonly bytes: number
  /** The time of the newest object. */
  readonly nowMs: number
  /** Names of heads. */
  readonly heads: readonly string[]
  /** The time of the sweep; 0 if there is none. */
  readonly sweptMs: number
}

/** The objects of the domain. Rejects with REMOTE_UNTRUSTED after `OBJECTS_MAX`. */
async function* listOf(store: ListedStore, { scope: { domain }, signal }: Publication): AsyncIterable<Listed> {
  let count = 0
  for await (const each of store.list(`v1/${domain}/`, { signal })) {
    if (++count > OBJECTS_MAX) throw tooMany(store, `lists more than ${OBJECTS_MAX} objects of '${domain}'`)
    yield each
  }
}

function tooMany({ label }: ListedStore, what: string): VarveError {
  return new VarveError('REMOTE_UNTRUSTED', `${label} ${what}, so nothing is removed. Use another prefix or scope`)
}

async function survey(store: ListedStore, one: Publication): Promise<Survey> {
  let objects = 0
  let bytes = 0
  let nowMs = 0
  let sweptMs = 0
  const heads: string[] = []
  for await (const { name, size, modified } of listOf(store, one)) {
    objects += 1
    bytes += size
    nowMs = Math.max(nowMs, modified)
    if (name === sweepName(one.scope.domain)) sweptMs = modified
    if (name.endsWith('/head')) heads.push(name)
    if (heads.length > HEADS_MAX) throw tooMany(store, `has more than ${HEADS_MAX} scopes`)
  }
  return { objects, bytes, nowMs, heads, sweptMs }
}

/** The first garbage of the list, as much as one sweep names. */
async function garbageIn(
  store: ListedStore,
  one: Publication,
  isGarbage: (each: Listed) => boolean,
): Promise<readonly Listed[]> {
  const garbage = new Map<string, Listed>() // a list may have an object twice
  for await (const each of listOf(store, one)) {
    if (isGarbage(each)) garbage.set(each.name, each)
    if (garbage.size === SWEPT_MAX) break
  }
  return [...garbage.values()]
}

/** Layers, chunks, and manifests of commits, which nothing needs if there are heads. */
function isObject(domain: string, name: string): boolean {
  return new RegExp(`^v1/${domain}/(?:(?:chunk|layer)/[0-9a-f]{64}|.+/manifest/[0-9a-f]{7,64}\\.[0-9a-f]{16})$`).test(
    name,
  )
}

function sizeOf(listed: readonly Listed[]): number {
  return bytesOf(listed.map(({ size }) => ({ bytes: size })))
}

/** The objects that these heads name, besides those that `live` has. */
async function liveOf(
  { remote, scope: { domain, isTrusted, keys }, signal }: Publication,
  heads: readonly string[],
  live: Set<string>,
  headOf: (scope: Scope) => Promise<Manifest | undefined>,
): Promise<Set<string>> {
  await forEachAtOnce(heads, async (head) => {
    const scope: Scope = { name: head.slice('v1/'.length, -'/head'.length), domain, isTrusted, keys }
    const { layers = [] } = (await headOf(scope)) ?? {}
    for (const layer of layers.filter(({ sha256 }) => !live.has(layerName(scope, sha256)))) {
      const { chunks } = await readDescription(remote, scope, layer, signal)
      for (const each of [layerName(scope, layer.sha256), ...chunks.map((chunk) => chunkName(scope, chunk))])
        live.add(each)
      if (live.size > LIVE_MAX)
        throw new VarveError('REMOTE_UNTRUSTED', `the heads of '${domain}' name more than ${LIVE_MAX} objects`)
    }
  })
  return live
}

interface Sweeping extends RemoteControl {
  readonly live: Set<string>
  readonly listed: Survey
}

async function sweep(
  one: Publication,
  store: ListedStore,
  garbage: readonly Listed[],
  { live, listed, onProgress }: Sweeping,
): Promise<readonly Listed[]> {
  const { remote, scope, signal } = one
  const name = sweepName(scope.domain)
  const before = await readSweep(remote, scope, signal)
  const ageMs = listed.nowMs - listed.sweptMs
  const busy = new VarveError(
    'BUSY',
    `another garbage collection of '${scope.domain}' is at work; repeat this when it has ended`,
  )
  if (before.names.size > 0 && ageMs <= before.budgetMs) throw busy
  const condition = before.etag === undefined ? { ifAbsent: true } : { ifMatch: before.etag }
  const bytes = encodeSweep(
    garbage.map((each) => each.name),
    remote.budgetMs,
  )
  if ((await store.put(name, bytes, { ...condition, signal })) !== 'stored') throw busy
  const { etag } = await readSweep(remote, scope, signal)
  // Heads of scopes that are new since the first list count as well.
  const { heads } = await survey(store, one)
  const all = [...new Set([...listed.heads, ...heads])]
  await liveOf(one, all, live, (each) => updateHead({ ...one, scope: each }, (manifest) => manifest))
  const removed = garbage.filter((each) => !live.has(each.name))
  let done = 0
  await forEachAtOnce(removed, async (each) => {
    await store.delete([each.name], { signal })
    onProgress?.((done += each.size), sizeOf(removed))
  })
  await store.put(name, encodeSweep([], 0), { ifMatch: etag ?? '', signal })
  return removed
}

// Revokes layers: the head loses them and lists their digests. Readers of the head remove them from their directories, and no
// publisher adds them again. A layer into which a revoked one was merged is revoked with it.

/** The outcome of `revoke`: the generation of the head, and the layers that readers do not use any more. */
export type RevokeReport = Omit<RemoteRevokeJson, 'format'>

/** Fewest digits of a digest or commit. */
const DIGITS_MIN = 7

/**
 * Revokes what `target` names: the first digits of the digest of a layer, as `remoteStatus` lists it, or of a commit, whose publication it
 * revokes. Rejects with INVALID_ARGUMENT if the head has no such layer, and as `push` does.
 */
export async function revoke(
  remote: Remote,
  target: string,
  control: Pick<RemoteControl, 'signal'> = {},
): Promise<RevokeReport> {
  checkCall('revoke', remote, control, { signal: CONTROL.signal })
  if (typeof target !== 'string' || !new RegExp(`^[0-9a-f]{${DIGITS_MIN},64}$`).test(target)) {
    const given = typeof target === 'string' ? JSON.stringify(target.slice(0, 80)) : typeof target
    const expected = `at least ${DIGITS_MIN} hexadecimal digits of its digest or hash, for example '3f9c2b7a41d0'`
    throw new VarveError('INVALID_ARGUMENT', `invalid layer or commit ${given}: expected ${expected}`)
  }
  return asPublisher(remote, '', control, async (one) => {
    await manifestsOf(remote, [], one.signal) // refuses a head that was set back
    const added = await addedBy(one, target)
    let layers: readonly RemoteLayer[] = []
    const head = await updateHead(one, (manifest) => {
      layers = manifest.layers.filter((layer) => isMeant(layer, [target, ...added]))
      return layers.length === 0 ? undefined : without(manifest, layers)
    })
    if (head !== undefined && layers.length > 0) {
      await manifestsOf(remote, [], one.signal) // removes them from this machine
      return { generation: head.generation, layers }
    }
    const name = one.scope.name
    const why = `the head of '${name}' has no such layer, and none of such a commit`
    throw new VarveError(
      'INVALID_ARGUMENT',
      `cannot revoke '${target}': ${why}. 'npx varve remote status' lists its layers`,
    )
  })
}

/** The digests of the layers that the publication of a commit has added. */
async function addedBy({ remote, scope, signal }: Publication, commit: string): Promise<readonly string[]> {
  const found = await readCommits(remote, scope, [commit], signal)
  return found?.manifest.added ?? []
}

function isMeant({ sha256, merged = [] }: RemoteLayer, targets: readonly string[]): boolean {
  return targets.some(
    (target) => sha256.startsWith(target) || merged.some((each) => target.startsWith(each) || each.startsWith(target)),
  )
}

function without(manifest: Manifest, layers: readonly RemoteLayer[]): Manifest {
  const revoked = [...layers.map(({ sha256 }) => sha256), ...(manifest.revoked ?? [])].slice(0, REVOKED_MAX)
  return { ...manifest, layers: manifest.layers.filter((layer) => !layers.includes(layer)), added: [], revoked }
}

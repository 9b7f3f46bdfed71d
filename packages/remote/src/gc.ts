/**
 * Garbage collection: removes objects of a domain that no head names.
 *
 *   1. The collector writes `v1/<domain>/clock`, whose time is the store's present time, and lists the domain.
 *   2. It marks what the heads of all scopes name: layers and their chunks. A head or description that it cannot verify ends it.
 *   3. What is not marked and older than the grace is written to the sweep. Publishers then do not rely on it (`sweep.ts`).
 *   4. It replaces each head by one with the same layers and a new generation, and marks what these name.
 *   5. It removes what is still not marked, and writes an empty sweep.
 *
 * A collector that ends at any point leaves at most a sweep. Publishers that need what it names wait for the next collector, which
 * takes over when the budget of the first one is over.
 */
import { VarveError } from 'varve'
import { forEachAtOnce } from './each.ts'
import { readManifest } from './heads.ts'
import { bytesOf } from './layer.ts'
import type { Manifest } from './manifest.ts'
import { AGE_MS, BOOLEAN, checkCall, CONTROL, type Field } from './options.ts'
import { type Publication, updateHead } from './publish.ts'
import { readDescription, type RemoteControl } from './pull.ts'
import { asPublisher } from './push.ts'
import { chunkName, layerName, type Remote, type Scope } from './remote.ts'
import type { BlobStore, Listed } from './stores/store.ts'
import { encodeSweep, readSweep, sweepName, SWEPT_MAX } from './sweep.ts'

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

const GC_FIELDS: Readonly<Record<keyof RemoteGcOptions, Field>> = { ...CONTROL, dryRun: BOOLEAN, graceMs: AGE_MS }

/** The outcome of `gc`. */
export interface RemoteGcReport {
  readonly dryRun: boolean
  /** Objects of the domain before, and their bytes. */
  readonly objects: number
  readonly bytes: number
  /** Objects that were removed, or would be. */
  readonly removed: number
  readonly removedBytes: number
}

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
    const listed = await listOf(store, one)
    const nowMs = listed.reduce((newest, { modified }) => Math.max(newest, modified), 0)
    const live = await liveOf(
      one,
      listed.map(({ name }) => name),
      new Set(),
      async (scope) => {
        return (await readManifest(remote, scope, `v1/${scope.name}/head`, one.signal))?.manifest
      },
    )
    const keptMs = (name: string): number => (name.includes('/manifest/') ? Math.max(graceMs, MANIFEST_MS) : graceMs)
    const isGarbage = ({ name, modified }: Listed): boolean =>
      !live.has(name) && isObject(domain, name) && nowMs - modified >= keptMs(name)
    const garbage = listed.filter(isGarbage).slice(0, SWEPT_MAX)
    const removed =
      dryRun || garbage.length === 0 ? garbage : await sweep(one, store, garbage, { live, listed, nowMs, ...control })
    return {
      dryRun,
      objects: listed.length,
      bytes: sizeOf(listed),
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

async function listOf(store: ListedStore, { scope: { domain }, signal }: Publication): Promise<Listed[]> {
  const listed = []
  for await (const each of store.list(`v1/${domain}/`, { signal })) listed.push(each)
  return listed
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

/** The objects that the heads among `names` name, besides those that `live` has. */
async function liveOf(
  { remote, scope: { domain, isTrusted, keys }, signal }: Publication,
  names: readonly string[],
  live: Set<string>,
  headOf: (scope: Scope) => Promise<Manifest | undefined>,
): Promise<Set<string>> {
  const heads = names.filter((name) => name.endsWith('/head'))
  await forEachAtOnce(heads, async (head) => {
    const scope: Scope = { name: head.slice('v1/'.length, -'/head'.length), domain, isTrusted, keys }
    const { layers = [] } = (await headOf(scope)) ?? {}
    for (const layer of layers.filter(({ sha256 }) => !live.has(layerName(scope, sha256)))) {
      const { chunks } = await readDescription(remote, scope, layer, signal)
      for (const each of [layerName(scope, layer.sha256), ...chunks.map((chunk) => chunkName(scope, chunk))])
        live.add(each)
    }
  })
  return live
}

interface Sweeping extends RemoteControl {
  readonly live: Set<string>
  readonly listed: readonly Listed[]
  readonly nowMs: number
}

async function sweep(
  one: Publication,
  store: ListedStore,
  garbage: readonly Listed[],
  { live, listed, nowMs, onProgress }: Sweeping,
): Promise<readonly Listed[]> {
  const { remote, scope, signal } = one
  const name = sweepName(scope.domain)
  const before = await readSweep(remote, scope, signal)
  const ageMs = nowMs - (listed.find((each) => each.name === name)?.modified ?? 0)
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
  const names = (await listOf(store, one)).map((each) => each.name)
  const all = [...new Set([...listed.map((each) => each.name), ...names])]
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

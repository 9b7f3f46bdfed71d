/**
 * Publishes changes of a scope:
 *
 *   1. The publisher makes sure that there is a head, and reads the sweep (below).
 *   2. It writes chunks, then descriptions, then the manifest of the commit, then the head: in this order no manifest names an
 *      object that does not exist. All but the head are create-only, so equal work by two publishers is stored once.
 *      A store without a head has only manifests of commits: a publisher of another cache of the same commit replaces that one.
 *   3. The head is replaced by compare-and-swap. If another publisher was first, this one reads the new head, changes its layers,
 *      and tries again after a random delay. A head that already names the layers needs no change.
 *
 * A publisher that ends at any point leaves at most objects that no manifest names, which `gc` removes.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { VarveError } from 'varve'
import {
  type Change,
  type Chunk,
  DESCRIPTION_MAX,
  encodeManifest,
  FIRST_MAX,
  layersWith,
  type Manifest,
  mergedOf,
  type RemoteLayer,
  type SigningKey,
} from './manifest.ts'
import { forEachAtOnce } from './host.ts'
import { readHead, readManifest } from './heads.ts'
import { bytesOf, chunkMaxFor, cut, digestOf, encodeDescription, FILES_MAX, filesOf, readChunk } from './layer.ts'
import { install, type RemoteControl } from './pull.ts'
import { chunkName, type Domain, headName, layerName, manifestName, type Remote, type Scope } from './remote.ts'
import type { Sealed } from './seal.ts'
import { randomUUID } from 'node:crypto'

/** What all steps of a publication need. */
export interface Publication {
  readonly remote: Remote
  readonly scope: Scope
  readonly key: SigningKey
  readonly commit: string
  readonly signal: AbortSignal
}

/** The outcome of a publication. */
export interface PublishOutcome {
  readonly outcome: 'published' | 'exists'
  readonly generation: number
  readonly layers: readonly RemoteLayer[]
  readonly sentBytes: number
}

/** Attempts to replace the head. A conflict means that another publisher has succeeded, so many publishers all finish. */
const SWAPS = 50
const SWAP_DELAY_MS = 20

/** Publishes what was sealed over `base`. Undefined if that must be sealed again, over what others have published. */
export async function publish(
  one: Publication,
  base: Manifest | undefined,
  sealed: readonly Sealed[],
  { onProgress }: RemoteControl,
): Promise<PublishOutcome | undefined> {
  await makeHead(one)
  const sweep = await readSweep(one.remote, one.scope, one.signal)
  const sent: Sent[] = []
  for (const each of sealed) sent.push(await send(one, each, onProgress))
  const objects = sent.flatMap(({ names }) => names)
  const outcome = await publishCommit(one, base, sent)
  if (outcome === undefined) return undefined
  const generation = await replaceHead(one, sent, { sweep, objects })
  if (generation === undefined) return undefined
  for (const { layer, directory } of sent) await install(one.remote, { layer, scope: one.scope }, directory)
  const layers = outcome === 'exists' ? [] : sent.map(({ layer }) => layer)
  return { outcome, generation, layers, sentBytes: sent.reduce((sum, { sentBytes }) => sum + sentBytes, 0) }
}

/** Writes a head without layers if there is none, so that garbage collection finds the scope. */
async function makeHead({ remote: { store }, remote, scope, key, signal }: Publication): Promise<void> {
  const name = headName(scope)
  if (!store.capabilities.compareAndSwap || (await readManifest(remote, scope, name, signal)) !== undefined) return
  const empty: Manifest = { version: 1, name, commit: '', generation: 0, createdAt: Date.now(), layers: [] }
  await store.put(name, encodeManifest(empty, key), { ifAbsent: true, signal })
}

/** A change whose objects the store has. */
interface Sent extends Change {
  readonly directory: string
  readonly names: readonly string[]
  /** Bytes of chunks that the store did not have. */
  readonly sentBytes: number
}

/** Writes the chunks of a layer, then its description. */
async function send(
  { remote: { store }, scope, signal }: Publication,
  sealed: Sealed,
  onProgress: RemoteControl['onProgress'],
): Promise<Sent> {
  const { directory, replaces, ...counts } = sealed
  const files = await filesOf(directory)
  const bytes = bytesOf(files)
  const chunks: Chunk[] = []
  let done = 0
  let sentBytes = 0
  const chunkMax = chunkMaxFor(store)
  await forEachAtOnce(cut({ files, chunkMax }).entries(), async ([index, pieces]) => {
    const chunk = await readChunk(directory, pieces)
    const sha256 = digestOf(chunk)
    chunks[index] = { sha256, bytes: chunk.length }
    const outcome = await store.put(chunkName(scope, sha256), chunk, { ifAbsent: true, sha256, signal })
    if (outcome === 'stored') sentBytes += chunk.length
    done += chunk.length
    onProgress?.(done, bytes)
  })
  const digests = chunks.map((chunk) => chunk.sha256)
  const description = encodeDescription({ chunkMax, files, chunks: digests })
  checkDescription(sealed.cache, description, files.length)
  const sha256 = digestOf(description)
  const name = layerName(scope, sha256)
  await store.put(name, description, { ifAbsent: true, sha256, signal })
  const merged = replaces.length === 0 ? {} : { merged: mergedOf(replaces) }
  const layer = {
    ...counts,
    sha256,
    descriptionBytes: description.length,
    bytes,
    first: chunks.slice(0, FIRST_MAX),
    ...merged,
  }
  return { layer, replaces, directory, sentBytes, names: [name, ...digests.map((digest) => chunkName(scope, digest))] }
}

/** Throws INVALID_ARGUMENT for a layer that readers would refuse. */
function checkDescription(cache: string, description: Uint8Array, files: number): void {
  if (files <= FILES_MAX && description.length <= DESCRIPTION_MAX) return
  throw new VarveError(
    'INVALID_ARGUMENT',
    `the cache '${cache}' has ${files} files, and a layer at most ${FILES_MAX}; limit it with maxBytes`,
  )
}

/**
 * Writes the manifest of the commit. `'exists'`: another publisher was first and has published the same layers. Undefined: the publisher
 * must begin again, because this manifest is all that readers have, and another publisher has changed it.
 */
async function publishCommit(
  one: Publication,
  base: Manifest | undefined,
  changes: readonly Change[],
): Promise<PublishOutcome['outcome'] | undefined> {
  const { remote, scope, key, commit, signal } = one
  if (commit === '') return 'published'
  const { store } = remote
  const name = manifestName(scope, commit, key.id)
  const manifest = next(name, commit, base, changes)
  const isReplaced = !store.capabilities.compareAndSwap && base?.name === name
  const condition = isReplaced ? {} : { ifAbsent: true }
  const outcome =
    manifest === undefined ? 'exists' : await store.put(name, encodeManifest(manifest, key), { ...condition, signal })
  if (outcome === 'stored' && store.capabilities.compareAndSwap) return 'published'
  const known = await readManifest(remote, scope, name, signal)
  const hasAll = changes.every(({ layer }) => known?.manifest.layers.some(({ sha256 }) => sha256 === layer.sha256))
  if (hasAll) return outcome === 'stored' ? 'published' : 'exists'
  return store.capabilities.compareAndSwap ? 'published' : undefined
}

/** What the publisher has relied on. */
interface PublisherBasis {
  readonly sweep: Sweep
  readonly objects: readonly string[]
}

/** Changes the head. Returns its generation, 0 if the store cannot replace a head; undefined if the publisher must begin again. */
async function replaceHead(
  one: Publication,
  changes: readonly Change[],
  { sweep, objects }: PublisherBasis,
): Promise<number | undefined> {
  const { remote, scope, key, commit, signal } = one
  if (!remote.store.capabilities.compareAndSwap) return 0
  const name = headName(scope)
  for (let attempt = 1; attempt <= SWAPS; attempt++) {
    const head = await readHead(remote, scope, signal)
    const { etag, names } = await readSweep(remote, scope, signal)
    if (head === undefined || etag !== sweep.etag) return undefined
    if (objects.some((object) => names.has(object))) throw swept(scope)
    const manifest = next(name, commit, head.manifest, changes)
    if (manifest === undefined) return undefined
    if (isUnchanged(manifest, head.manifest)) return head.manifest.generation
    if (
      (await remote.store.put(name, encodeManifest(manifest, key), { ifMatch: head.etag ?? '', signal })) === 'stored'
    )
      return manifest.generation
    await pause(attempt, signal)
  }
  throw busy(scope)
}

/** Replaces the head by what `change` makes of its manifest; undefined: nothing. Returns the manifest, or undefined without a head. */
export async function updateHead(
  { remote, scope, key, signal }: Omit<Publication, 'commit'>,
  change: (manifest: Manifest) => Manifest | undefined,
): Promise<Manifest | undefined> {
  const name = headName(scope)
  for (let attempt = 1; attempt <= SWAPS; attempt++) {
    const head = await readManifest(remote, scope, name, signal)
    const changed = head === undefined ? undefined : change(head.manifest)
    if (head === undefined || changed === undefined) return head?.manifest
    const manifest = { ...changed, generation: head.manifest.generation + 1 }
    if (
      (await remote.store.put(name, encodeManifest(manifest, key), { ifMatch: head.etag ?? '', signal })) === 'stored'
    )
      return manifest
    await pause(attempt, signal)
  }
  throw busy(scope)
}

async function pause(attempt: number, signal: AbortSignal): Promise<void> {
  await delay(SWAP_DELAY_MS * Math.min(attempt, 10) * Math.random(), undefined, { signal })
}

function busy({ name }: Scope): VarveError {
  return new VarveError('BUSY', `other publishers changed the head of '${name}' ${SWAPS} times; publish again`)
}

function swept({ name }: Scope): VarveError {
  return new VarveError(
    'BUSY',
    `garbage collection is removing an object that '${name}' would name; publish again when it has ended`,
  )
}

/** The manifest that follows `before`. Undefined if a change does not apply to its layers. */
function next(
  name: string,
  commit: string,
  before: Manifest | undefined,
  changes: readonly Change[],
): Manifest | undefined {
  const { generation = 0, revoked = [], layers: known = [] } = before ?? {}
  const allowed = changes.filter(({ layer }) => !revoked.includes(layer.sha256))
  const layers = layersWith(known, allowed)
  if (layers === undefined) return undefined
  const isSameCommit = commit !== '' && before?.name === name && before.commit === commit
  const added = [...(isSameCommit ? (before.added ?? []) : []), ...allowed.map(({ layer }) => layer.sha256)]
  return {
    version: 1,
    name,
    commit,
    generation: generation + 1,
    createdAt: Date.now(),
    layers,
    added,
    ...(revoked.length === 0 ? {} : { revoked }),
  }
}

function isUnchanged({ layers }: Manifest, before: Manifest): boolean {
  return (
    layers.length === before.layers.length &&
    layers.every(({ sha256, cache }, index) => {
      return sha256 === before.layers[index]?.sha256 && cache === before.layers[index]?.cache
    })
  )
}

// The sweep of a domain: the object by which garbage collection and publishers agree, so that none removes what another names.
//
//   v1/<domain>/sweep    <random id> <milliseconds that the collector may take>
//                        a line for each object that it is about to remove; none if it has ended
//
// Collector and publisher read and write in opposite orders, so one of them sees the other:
//
//   1. The publisher makes sure that a head exists, reads the sweep, and writes its objects. It skips objects that exist.
//   2. Before each attempt to replace the head, it reads the head, then the sweep. If the sweep has changed, the objects of step 1 may be
//      gone, and it begins again. If the sweep names one of its objects, it publishes nothing.
//   3. The collector writes the sweep, then replaces every head by one with the same layers and a new generation. A publisher that
//      was first is in the head that it reads; one that comes later has a conflict, reads again, and sees the sweep.
//   4. The collector removes what the sweep names and no head does, and writes an empty sweep.

/** What a sweep has when it was read. */
export interface Sweep {
  /** Undefined if there was never one. */
  readonly etag: string | undefined
  /** Milliseconds that its collector may take. */
  readonly budgetMs: number
  readonly names: ReadonlySet<string>
}

/** Most objects of one sweep. */
export const SWEPT_MAX = 50_000
const SWEEP_BYTES_MAX: number = 16 << 20

export function sweepName(domain: Domain): string {
  return `v1/${domain}/sweep`
}

/** The sweep of a domain. A store that cannot replace a head has none, because there is no garbage collection. */
export async function readSweep(
  { store }: Remote,
  { domain }: Pick<Scope, 'domain'>,
  signal: AbortSignal,
): Promise<Sweep> {
  const found = store.capabilities.compareAndSwap
    ? await store.get(sweepName(domain), { bytesMax: SWEEP_BYTES_MAX, signal })
    : undefined
  const [first = '', ...names] = Buffer.from(found?.bytes ?? [])
    .toString()
    .split('\n', SWEPT_MAX + 2) // the object is not signed
    .filter((line) => line !== '')
  return { etag: found?.etag, budgetMs: Number(first.split(' ')[1]) || 0, names: new Set(names) }
}

/** The bytes of a sweep, which differ from those of every other one. */
export function encodeSweep(names: readonly string[], budgetMs: number): Uint8Array {
  return new Uint8Array(Buffer.from([`${randomUUID()} ${budgetMs}`, ...names, ''].join('\n')))
}

/**
 * Publishes what caches have and a remote lacks.
 *
 *   1. The publisher reads the head and fetches its layers: they are the base of the deltas.
 *   2. It seals each cache, opened over these layers, into a delta. A delta without entries is not published.
 *   3. It writes chunks, then descriptions, then the manifest of the commit, then the head: in this order no manifest names an
 *      object that does not exist. All but the head are create-only, so equal work by two publishers is stored once.
 *   4. The head is replaced by compare-and-swap. If another publisher was first, this one reads the new head, puts its layers on top,
 *      and tries again after a random delay. A head that already names the layers needs no change.
 *
 * A publisher that ends at any point leaves at most objects that no manifest names.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openCache, VarveError } from 'varve'
import { forEachAtOnce } from './each.ts'
import { readHead, readManifest } from './heads.ts'
import type { SigningKey } from './keys.ts'
import { bytesOf, cut, digestOf, encodeDescription, filesOf, readChunk } from './layer.ts'
import { encodeManifest, type Manifest, type RemoteLayer } from './manifest.ts'
import { fetchLayers, install, manifestsOf, namedIn, pathOf, type RemoteControl } from './pull.ts'
import { chunkName, headName, layerName, manifestName, type Remote, type Scope, withinBudget } from './remote.ts'

/** A cache to publish. */
export interface PushedCache {
  readonly name: string
  readonly dir: string
}

/** Options of `push`. */
export interface PushOptions extends RemoteControl {
  readonly caches: readonly PushedCache[]
  /** Hash of the commit that was built: readers find its manifest even if the store has no head. */
  readonly commit?: string | undefined
  /** Commits whose manifests are the base if the store has no head, as in `pull`. */
  readonly commits?: readonly string[] | undefined
  /** Option `shared` of `openCache`. */
  readonly shared?: boolean | undefined
}

/** The outcome of `push`. */
export interface PushReport {
  /**
   * `'published'`: the head or the commit has new layers. `'unchanged'`: the remote had everything. `'exists'`: another publisher was
   * first with this commit.
   */
  readonly outcome: 'published' | 'unchanged' | 'exists'
  /** Generation of the head; 0 if the store has no head. */
  readonly generation: number
  /** The new layers. */
  readonly layers: readonly RemoteLayer[]
  /** Bytes of chunks that the store did not have. */
  readonly sentBytes: number
}

/** Attempts to replace the head. A conflict means that another publisher has succeeded, so many publishers all finish. */
const SWAPS = 50
const SWAP_DELAY_MS = 20

/** What all steps of a push need. */
interface Push {
  readonly remote: Remote
  readonly scope: Scope
  readonly key: SigningKey
  readonly commit: string
  readonly signal: AbortSignal
}

/**
 * Publishes the committed entries of caches. Rejects with READ_ONLY unless the remote has mode `'read-write'`; with
 * REMOTE_UNAVAILABLE, REMOTE_DENIED, REMOTE_UNTRUSTED (the head is not one that this machine trusts), BUSY, CANCELLED or IO.
 */
export async function push(remote: Remote, { caches, commit = '', commits = [], shared, ...control }: PushOptions): Promise<PushReport> {
  const { signingKey: key, scopes: [scope], store } = remote
  if (key === undefined) throw new VarveError('READ_ONLY', "the remote is only read; publish with mode 'read-write' and a signing key")
  if (!store.capabilities.compareAndSwap && commit === '') {
    throw new VarveError('INVALID_ARGUMENT', `${store.label} cannot replace a head safely, so only commits are published: name one (--commit)`)
  }
  checkOwnKey(scope, key)
  return withinBudget(remote, control.signal, async (signal) => {
    const one: Push = { remote, scope, key, commit, signal }
    const known = commit === '' ? undefined : await readManifest(remote, scope, manifestName(scope, commit, key.id), signal)
    if (known !== undefined) return { ...(await existing(one, known.manifest)), sentBytes: 0 }
    const base = await baseOf(one, commits)
    const temporary = join(remote.dir, `.${randomUUID()}.tmp`)
    try {
      const sealed = await sealAll(one, base.layers, { caches, shared, temporary })
      if (sealed.length === 0 && commit === '') return { outcome: 'unchanged', generation: 0, layers: [], sentBytes: 0 }
      const sent: Sent[] = []
      for (const delta of sealed) sent.push(await send(one, delta, control))
      for (const { layer, directory } of sent) await install(remote, layer, directory)
      return { ...(await publish(one, base.manifest, sent.map(({ layer }) => layer))), sentBytes: bytesOf(sent) }
    } finally {
      await rm(temporary, { recursive: true, force: true })
    }
  })
}

/** A publisher whose key readers do not accept would publish in vain, and block those that are accepted. */
function checkOwnKey({ keys, name }: Scope, { id }: SigningKey): void {
  if (keys === 'none' || keys.some((key) => key.id === id)) return
  throw new VarveError('INVALID_OPTION', `the signing key ${id} is not one of the trusted keys, so readers of '${name}' would refuse it`)
}

/** What readers of the scope have. */
interface Base {
  /** The layers of all scopes, on this machine. */
  readonly layers: readonly RemoteLayer[]
  /** The manifest of the scope itself. */
  readonly manifest: Manifest | undefined
}

async function baseOf({ remote, signal }: Push, commits: readonly string[]): Promise<Base> {
  const found = await manifestsOf(remote, commits, signal)
  const { layers } = await fetchLayers(remote, namedIn(found), { signal })
  return { layers, manifest: found[0]?.manifest }
}

/** A delta that is not published yet. */
interface Sealed extends Pick<RemoteLayer, 'cache' | 'entries' | 'deletes'> {
  readonly directory: string
}

/** A delta that the store has. */
interface Sent {
  readonly layer: RemoteLayer
  readonly directory: string
  /** Bytes of chunks that the store did not have. */
  readonly bytes: number
}

interface Sealing {
  readonly caches: readonly PushedCache[]
  readonly shared: boolean | undefined
  readonly temporary: string
}

async function sealAll({ remote, signal }: Push, base: readonly RemoteLayer[], { caches, shared, temporary }: Sealing): Promise<Sealed[]> {
  await mkdir(temporary, { recursive: true, mode: 0o700 })
  const sealed: Sealed[] = []
  for (const { name, dir } of caches) {
    const layers = base.filter(({ cache }) => cache === name).map((layer) => pathOf(remote, layer))
    const directory = join(temporary, name)
    const cache = await openCache({ name, dir, layers, readOnly: true, shared })
    try {
      const { entries, deletes } = await cache.seal(directory, { since: layers, signal })
      if (entries + deletes > 0) sealed.push({ cache: name, entries, deletes, directory })
    } finally {
      await cache.close()
    }
  }
  return sealed
}

/** Writes the chunks of a delta, then its description. */
async function send({ remote: { store }, scope, signal }: Push, delta: Sealed, { onProgress }: RemoteControl): Promise<Sent> {
  const { directory, ...counts } = delta
  const files = await filesOf(directory)
  const bytes = bytesOf(files)
  const chunks: string[] = []
  let [done, sentBytes] = [0, 0]
  await forEachAtOnce(cut(files).entries(), async ([index, pieces]) => {
    const chunk = await readChunk(directory, pieces)
    const sha256 = (chunks[index] = digestOf(chunk))
    const outcome = await store.put(chunkName(scope, sha256), chunk, { ifAbsent: true, sha256, signal })
    if (outcome === 'stored') sentBytes += chunk.length
    done += chunk.length
    onProgress?.(done, bytes)
  })
  const description = encodeDescription({ version: 1, files, chunks })
  const sha256 = digestOf(description)
  await store.put(layerName(scope, sha256), description, { ifAbsent: true, sha256, signal })
  return { layer: { ...counts, sha256, descriptionBytes: description.length, bytes }, directory, bytes: sentBytes }
}

/** Writes the manifest of the commit and the head. */
async function publish(one: Push, base: Manifest | undefined, layers: readonly RemoteLayer[]): Promise<Omit<PushReport, 'sentBytes'>> {
  const { remote, scope, key, commit, signal } = one
  if (commit !== '') {
    const name = manifestName(scope, commit, key.id)
    const bytes = encodeManifest(next(name, commit, base, layers), key)
    const isFirst = (await remote.store.put(name, bytes, { ifAbsent: true, signal })) === 'stored'
    const known = isFirst ? undefined : await readManifest(remote, scope, name, signal)
    if (known !== undefined) return existing(one, known.manifest)
  }
  return { outcome: 'published', generation: await replaceHead(one, layers), layers }
}

/** Makes sure that the head has what another publisher of this commit has published: it may have ended before. */
async function existing(one: Push, { layers }: Manifest): Promise<Omit<PushReport, 'sentBytes'>> {
  return { outcome: 'exists', generation: await replaceHead(one, layers), layers: [] }
}

/** Puts the layers on top of the head. Returns its generation; 0 if the store cannot replace a head. */
async function replaceHead({ remote, scope, key, commit, signal }: Push, layers: readonly RemoteLayer[]): Promise<number> {
  if (!remote.store.capabilities.compareAndSwap) return 0
  const name = headName(scope)
  for (let attempt = 1; attempt <= SWAPS; attempt++) {
    const head = await readHead(remote, scope, signal)
    const manifest = next(name, commit, head?.manifest, layers)
    if (head !== undefined && manifest.layers.length === head.manifest.layers.length) return head.manifest.generation
    const condition = head === undefined ? { ifAbsent: true } : { ifMatch: head.etag ?? '' }
    if ((await remote.store.put(name, encodeManifest(manifest, key), { ...condition, signal })) === 'stored') return manifest.generation
    await delay(SWAP_DELAY_MS * Math.min(attempt, 10) * Math.random(), undefined, { signal })
  }
  throw new VarveError('BUSY', `other publishers changed the head of '${scope.name}' ${SWAPS} times; publish again`)
}

/** The manifest that follows `before`, with `layers` that it does not have on top. */
function next(name: string, commit: string, before: Manifest | undefined, layers: readonly RemoteLayer[]): Manifest {
  const known = before?.layers ?? []
  const isKnown = (layer: RemoteLayer): boolean => known.some(({ sha256, cache }) => sha256 === layer.sha256 && cache === layer.cache)
  const added = layers.filter((layer) => !isKnown(layer))
  return { version: 1, name, commit, generation: (before?.generation ?? 0) + 1, createdAt: Date.now(), layers: [...added, ...known] }
}

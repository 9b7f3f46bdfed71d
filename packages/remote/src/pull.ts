/**
 * Fetches the layers of a remote into a directory beside the caches:
 *
 *   <dir>/<sha256, 32 digits>/<cache>/v1/..    a layer; the path that `openCache({ layers })` takes
 *   <dir>/<sha256>.untrusted/<cache>/..        the same of a scope that is not trusted; caches recognise a copy by its file UNTRUSTED
 *   <dir>/.<uuid>.tmp/                         one that is being fetched
 *
 *   1. The reader gets the head of each scope, or else the manifest of the first commit that has one, and verifies it.
 *   2. For all layers that it lacks, it gets the descriptions and chunks, and verifies every digest before it writes. The first chunks of a
 *      layer, which the manifest names, are asked for together with its description: a small layer takes one round trip after the head.
 *   3. It renames the finished directory. So a layer with its name is complete, whenever the process ends.
 *   4. What no head names any more is removed later (`heads.ts`), and what is revoked at once.
 */
import type { RemotePullJson } from 'varve/cli-json'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { VarveError } from 'varve'
import { allEnded, Gate, makeDirectory, disk } from './host.ts'
import { ioError } from './error-code.ts'
import { dropUnused, readNewest, remove } from './heads.ts'
import { bytesOf, cut, decodeDescription, type Description, digestOf, FILES_MAX, writeChunk } from './layer.ts'
import { type Chunk, DESCRIPTION_MAX, type Manifest, type RemoteLayer } from './manifest.ts'
import { type Fields, TEXTS } from 'varve/internal'
import { checkCall, CONTROL } from './options.ts'
import { chunkName, layerName, type Remote, type Scope, withinBudget } from './remote.ts'

/** Options of a call that takes time. */
export interface RemoteControl {
  readonly signal?: AbortSignal | undefined
  /** Called with the bytes that were transferred and with their total. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined
}

/** Options of `pull`. */
export interface PullOptions extends RemoteControl {
  /**
   * Commits whose manifests are used if a scope has no head, in this order.
   * @defaultValue option `commits` of `openRemote` if the store has no head
   */
  readonly commits?: readonly string[] | undefined
}

/** The checks of these options. */
export const PULL_FIELDS: Fields<PullOptions> = { ...CONTROL, commits: TEXTS }

/** The outcome of `pull`: the layers of all caches, the newest first; those of one cache are in the order that `openCache` needs. */
export type PullReport = Omit<RemotePullJson, 'format' | 'variable'>

/** A layer on this machine. */
export type PulledLayer = PullReport['layers'][number]

/** A layer that a manifest names, in its scope. */
export interface NamedLayer {
  readonly layer: RemoteLayer
  readonly scope: Scope
}

/** Fetches all layers of the scopes of a remote. Rejects with REMOTE_UNAVAILABLE, REMOTE_DENIED, REMOTE_UNTRUSTED, CANCELLED or IO. */
export async function pull(remote: Remote, options: PullOptions = {}): Promise<PullReport> {
  checkCall('pull', remote, options, PULL_FIELDS)
  const { commits = [], ...control } = options
  return withinBudget(remote, control.signal, async (signal) => {
    const found = await manifestsOf(remote, commits, signal)
    return fetchLayers(remote, namedIn(found), { ...control, signal })
  })
}

/** What a scope has; no manifest if nothing was published. */
export interface ScopeManifest {
  readonly scope: Scope
  readonly manifest: Manifest | undefined
  /** The signed bytes of the manifest. */
  readonly bytes?: Uint8Array | undefined
}

/**
 * The head of each scope, or else the manifest of the first commit that has one. Removes layers that it revokes. A reader that finds nothing
 * rejects with REMOTE_UNAVAILABLE if the place of the store does not exist; the first write of a writer may make it.
 */
export async function manifestsOf(
  remote: Remote,
  given: readonly string[],
  signal: AbortSignal,
): Promise<ScopeManifest[]> {
  const commits = given.length > 0 || remote.store.capabilities.compareAndSwap ? given : await remote.commits()
  const find = async (scope: Scope): Promise<ScopeManifest> => {
    const found = await readNewest(remote, scope, commits, signal)
    return { scope, manifest: found?.manifest, bytes: found?.bytes }
  }
  const found = await Promise.all(remote.scopes.map(find))
  if (remote.signingKey === undefined && found.every(({ manifest }) => manifest === undefined)) {
    const missing = await remote.store.missing?.({ signal })
    if (missing !== undefined) throw new VarveError('REMOTE_UNAVAILABLE', missing)
  }
  const revoked = found.flatMap(({ scope, manifest }) =>
    (manifest?.revoked ?? []).map((sha256) => directoryOf(remote, scope, sha256)),
  )
  await Promise.all(revoked.filter((path) => disk.existsSync(path)).map((path) => remove(remote.dir, path)))
  return found
}

/** All layers that manifests name, without those that `newest` revokes in the domain of their scope. */
export function namedIn(found: readonly ScopeManifest[], newest: readonly ScopeManifest[] = found): NamedLayer[] {
  const isRevoked = ({ sha256 }: RemoteLayer, { domain }: Scope): boolean =>
    newest.some(({ scope, manifest }) => scope.domain === domain && manifest?.revoked?.includes(sha256) === true)
  const named = found.flatMap(({ scope, manifest }) => (manifest?.layers ?? []).map((layer) => ({ layer, scope })))
  return named.filter(({ layer, scope }) => !isRevoked(layer, scope))
}

/** The path of a layer on this machine. */
export function pathOf(remote: Remote, { layer: { sha256, cache }, scope }: NamedLayer): string {
  return join(directoryOf(remote, scope, sha256), cache)
}

/** Untrusted scopes have directories of their own: what they name or revoke changes nothing for trusted ones. */
function directoryOf({ dir }: Remote, { isTrusted }: Scope, sha256: string): string {
  return join(dir, `${sha256.slice(0, 32)}${isTrusted ? '' : '.untrusted'}`)
}

/** The layers of these that can be used: the oldest up to the first that is missing. They are an earlier state of the remote. */
export function usableOf(remote: Remote, named: readonly NamedLayer[]): NamedLayer[] {
  const missing = named.findLastIndex((each) => !disk.existsSync(pathOf(remote, each)))
  return named.slice(missing + 1)
}

/**
 * Fetches the layers that are not on this machine. The requests of the oldest layer begin first, so that a fetch that is cut short leaves a
 * usable state.
 */
export async function fetchLayers(
  remote: Remote,
  named: readonly NamedLayer[],
  { signal, onProgress }: RemoteControl & { readonly signal: AbortSignal },
): Promise<PullReport> {
  const missing = named.filter((each) => !disk.existsSync(pathOf(remote, each))).toReversed()
  const total = bytesOf(missing.map(({ layer }) => layer))
  checkDescriptions(missing)
  let done = 0
  const fetching: Fetching = {
    remote,
    signal,
    gate: new Gate(),
    files: 0,
    onBytes: (bytes) => onProgress?.((done += bytes), total),
  }
  await allEnded(missing.map((each) => fetchLayer(fetching, each)))
  if (missing.length > 0)
    await dropUnused(
      remote.dir,
      named.map(({ layer }) => layer),
    )
  const layers = named.map((each) => ({ ...each.layer, scope: each.scope.name, path: pathOf(remote, each) }))
  return { layers, fetched: missing.length, fetchedBytes: total }
}

/** What the fetches of all layers share. */
interface Fetching {
  readonly remote: Remote
  readonly signal: AbortSignal
  readonly gate: Gate
  /** Files that the descriptions so far have listed. */
  files: number
  readonly onBytes: (bytes: number) => void
}

/** Throws REMOTE_UNTRUSTED for scopes whose descriptions take more memory together than those of one may. */
function checkDescriptions(missing: readonly NamedLayer[]): void {
  const bytes = missing.reduce((sum, { layer }) => sum + layer.descriptionBytes, 0)
  if (bytes <= DESCRIPTION_MAX) return
  throw new VarveError(
    'REMOTE_UNTRUSTED',
    `the descriptions of ${missing.length} layers of the remote have ${bytes} bytes, at most ${DESCRIPTION_MAX} are read. Revoke layers, or remove a scope`,
  )
}

/** Fetches the description and the first chunks at the same time, then the other chunks. */
async function fetchLayer(fetching: Fetching, named: NamedLayer): Promise<void> {
  const { remote, signal, gate, onBytes } = fetching
  const { layer, scope } = named
  const temporary = join(remote.dir, `.${randomUUID()}.tmp`)
  try {
    const made = makeDirectory(temporary, 0o700) // meanwhile, so that requests begin in the order of the calls
    const describing = gate.run(async () => {
      const filesMax = FILES_MAX - fetching.files
      const description = await ofLayer(named, readDescription(remote, scope, layer, signal, filesMax))
      fetching.files += description.files.length
      return { chunks: description.chunks, pieces: cut(description) }
    })
    const fetch = ({ sha256, bytes }: Chunk, index: number): Promise<void> =>
      gate.run(async () => {
        const content = await ofLayer(named, readVerified(remote, chunkName(scope, sha256), bytes, signal))
        await writeChunk(temporary, (await describing).pieces[index] ?? [], content, signal)
        onBytes(bytes)
      })
    const first = layer.first.map(fetch)
    const others = describing.then(({ chunks: digests, pieces }) => {
      const chunks = pieces.map((each, index) => ({ sha256: digests[index] ?? '', bytes: bytesOf(each) }))
      checkFirst(layer, chunks)
      return allEnded(chunks.map((chunk, index) => first[index] ?? fetch(chunk, index)))
    })
    await allEnded([made, others, ...first])
    await install(remote, named, temporary)
  } catch (error) {
    throw ioError(error, remote.dir)
  } finally {
    await disk.promises.rm(temporary, { recursive: true, force: true })
  }
}

/** Rejects a manifest that names other first chunks than the description. */
function checkFirst({ first, sha256 }: RemoteLayer, chunks: readonly Chunk[]): void {
  const isSame = first.every(
    (chunk, index) => chunk.sha256 === chunks[index]?.sha256 && chunk.bytes === chunks[index].bytes,
  )
  if (isSame) return
  const why = `the manifest of the remote names other chunks of layer ${sha256.slice(0, 12)} than its description`
  throw new VarveError('REMOTE_UNTRUSTED', `${why}. Publish again`)
}

/** The file by which `varve` recognises what is not trusted. */
const MARK = 'UNTRUSTED'

/** Makes a complete directory the layer, unless another process was first. */
export async function install(remote: Remote, named: NamedLayer, complete: string): Promise<void> {
  const target = pathOf(remote, named)
  if (!named.scope.isTrusted) {
    // Also in each directory of the format, so that a copy of one of these is recognised.
    const entries = await disk.promises.readdir(complete, { withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(complete, name))
    for (const folder of [complete, ...folders]) await disk.promises.writeFile(join(folder, MARK), '', { mode: 0o600 })
  }
  await makeDirectory(dirname(target), 0o700)
  try {
    await disk.promises.rename(complete, target)
  } catch (error) {
    if (!disk.existsSync(target)) throw error
  }
}

/** The description of a layer, verified. */
export async function readDescription(
  remote: Remote,
  scope: Scope,
  layer: RemoteLayer,
  signal: AbortSignal,
  filesMax: number = FILES_MAX,
): Promise<Description> {
  const name = layerName(scope, layer.sha256)
  const bytes = await readVerified(remote, name, layer.descriptionBytes, signal)
  const description = decodeDescription(bytes, layer.bytes, filesMax)
  if (description !== undefined) return description
  const why = `it does not describe a layer of ${layer.bytes} bytes with at most ${filesMax} files. Remove it, and publish again`
  throw new VarveError('REMOTE_UNTRUSTED', `'${name}' of the remote is not used: ${why}`)
}

const LOST =
  "the store has lost what a manifest names, by a rule that expires objects or a cleaned disk. The next build that publishes, or 'npx varve remote push', leaves its layer out"

/** An object with the digest of its name. Rejects with REMOTE_UNTRUSTED if it is missing or has other bytes. */
export async function readVerified(
  { store }: Remote,
  name: string,
  bytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const found = await store.get(name, { bytesMax: bytes, signal })
  const isWhole = found !== undefined && found.bytes.length === bytes && name.endsWith(`/${digestOf(found.bytes)}`)
  if (isWhole) return found.bytes
  if (found === undefined) throw new MissingObject('REMOTE_UNTRUSTED', `'${name}' of the remote is missing: ${LOST}`)
  throw new VarveError(
    'REMOTE_UNTRUSTED',
    `'${name}' of the remote does not have the bytes of its digest. Remove it, and publish again`,
  )
}

/** A manifest names an object that the store does not have. */
export class MissingObject extends VarveError {
  /** The layer that it belongs to, if one was fetched. */
  named: NamedLayer | undefined
}

/** Runs a part of fetching a layer, whose missing objects name it. */
async function ofLayer<T>(named: NamedLayer, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof MissingObject) error.named ??= named
    throw error
  }
}

/**
 * Reads manifests of a remote. Heads are stored in the directory of the remote, and their signatures are verified again:
 *
 *   head-<id>            the last head of a scope: a reader does not go back to an earlier generation
 *   head-<id>-<cache>    the last one whose layers of a cache were all fetched: used while those of the last head are incomplete
 *
 * In a store without a head, the manifest of the newest known commit takes its place.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { VarveError } from 'varve'
import { ioError } from './error-code.ts'
import { digestOf } from './layer.ts'
import { decodeManifest, type Manifest, MANIFEST_MAX, unverified } from './manifest.ts'
import { headName, isManifestName, manifestName, type Remote, type Scope } from './remote.ts'
import type { Fetched } from './stores/store.ts'
import { makeDirectory } from './make-directory.ts'
import { disk } from './host.ts'

/** What the names of stored heads begin with. */
export const STORED_HEAD = 'head-'

/** A manifest and its object. */
export interface FoundManifest extends Fetched {
  readonly manifest: Manifest
}

/** The head of a scope; undefined if there is none. Rejects with REMOTE_UNTRUSTED if a later generation was read before. */
export async function readHead(remote: Remote, scope: Scope, signal: AbortSignal): Promise<FoundManifest | undefined> {
  const found = await readManifest(remote, scope, headName(scope), signal)
  if (found === undefined) return undefined
  const { generation } = found.manifest
  const before = (await readStoredGeneration(remote, scope)) ?? 0
  if (generation < before) {
    const why = `it was set back from generation ${before} to ${generation}`
    const fix = `If that was you, remove '${storedPath(remote, scope)}'`
    throw new VarveError('REMOTE_UNTRUSTED', `the head of '${scope.name}' is not used: ${why}. ${fix}`)
  }
  if (generation > before) await writeStoredHead(remote, scope, found.bytes)
  return found
}

/** The generation of the stored head; undefined if there is none. Manifests of commits do not count: their generations may go back. */
async function readStoredGeneration(remote: Remote, scope: Scope): Promise<number | undefined> {
  const stored = await readStoredHead(remote, scope)
  return stored?.name === headName(scope) ? stored.generation : undefined
}

/**
 * The head of a scope, or else the manifest of the first of these commits that has one. The head is read first, although a store that cannot
 * replace it has none: a server that fails is then asked for one object, instead of one for each commit.
 */
export async function readNewest(
  remote: Remote,
  scope: Scope,
  commits: readonly string[],
  signal: AbortSignal,
): Promise<FoundManifest | undefined> {
  const head = await readHead(remote, scope, signal)
  if (head !== undefined) return head
  const commit = await readCommits(remote, scope, commits, signal)
  const isNewest = commit !== undefined && !remote.store.capabilities.compareAndSwap
  if (isNewest && (await readStoredGeneration(remote, scope)) === undefined)
    await writeStoredHead(remote, scope, commit.bytes)
  return commit
}

/** The manifest of the first of these commits that has one; undefined if none has. They are read at the same time. */
export async function readCommits(
  remote: Remote,
  scope: Scope,
  commits: readonly string[],
  signal: AbortSignal,
): Promise<FoundManifest | undefined> {
  const ids = scope.keys === 'none' ? [] : scope.keys.map(({ id }) => id)
  const names = commits.flatMap((commit) => ids.map((id) => manifestName(scope, commit, id)))
  const outcomes = await Promise.allSettled(names.map((name) => readManifest(remote, scope, name, signal)))
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') throw outcome.reason
    if (outcome.value !== undefined) return outcome.value
  }
  return undefined
}

export async function readManifest(
  { store }: Remote,
  scope: Scope,
  name: string,
  signal: AbortSignal,
): Promise<FoundManifest | undefined> {
  const found = await store.get(name, { bytesMax: MANIFEST_MAX, signal })
  return found === undefined ? undefined : { ...found, manifest: decodeManifest(found.bytes, name, scope.keys) }
}

/**
 * The head that this machine has read last, or the last one whose layers of `cache` were all fetched; undefined if there is none, or if it is
 * not trusted any more.
 */
export async function readStoredHead(remote: Remote, scope: Scope, cache?: string): Promise<Manifest | undefined> {
  try {
    const bytes = await disk.promises.readFile(storedPath(remote, scope, cache))
    const name = unverified(bytes)?.name ?? ''
    return isManifestName(scope, name) ? decodeManifest(bytes, name, scope.keys) : undefined
  } catch {
    return undefined // without a record, a reader accepts any generation, as a new machine does
  }
}

/** Stores a head, unless it is stored already. */
export async function writeStoredHead(remote: Remote, scope: Scope, bytes: Uint8Array, cache?: string): Promise<void> {
  const path = storedPath(remote, scope, cache)
  if ((await disk.promises.readFile(path).catch(() => undefined))?.equals(bytes) === true) return
  const temporary = join(remote.dir, `.${randomUUID()}.tmp`)
  try {
    await makeDirectory(remote.dir, 0o700)
    await disk.promises.writeFile(temporary, bytes, { mode: 0o600 })
    await disk.promises.rename(temporary, path)
  } catch (error) {
    await disk.promises.rm(temporary, { force: true }).catch(() => undefined)
    throw ioError(error, remote.dir)
  }
}

function storedPath({ store, dir }: Remote, { name }: Scope, cache?: string): string {
  const id = digestOf(Buffer.from(`${store.label}\n${name}`)).slice(0, 32)
  return join(dir, `${STORED_HEAD}${id}${cache === undefined ? '' : `-${cache}`}`)
}

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
import { decodeManifest, type Manifest, MANIFEST_MAX, type RemoteLayer, unverified } from './manifest.ts'
import { headName, isManifestName, manifestName, type Remote, type Scope } from './remote.ts'
import type { Fetched } from './stores/store.ts'
import { makeDirectory, disk } from './host.ts'

/** What the names of stored heads begin with. */
const STORED_HEAD = 'head-'

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

// Removes layers from the directory of a remote:
//
//   1. After layers were fetched, one that no stored head names gets a file `.unused`. One that is named again loses it.
//   2. Its directory is removed `UNUSED_MS` after that: first renamed, so that no part of a layer has its name, then deleted.
//   3. A layer in which a cache has found damage is removed at once, so that it is fetched again, but only once in `UNUSED_MS`: what was
//      published may be damaged, too.
//
// No lock protects a process that has the layer open, the time does. A process that stays open for longer keeps its open tables, on POSIX as
// on Windows, where an open file keeps the directory from being renamed. Blobs that it reads later are misses.

const UNUSED_MS = 7 * 86_400_000
const LAYER = /^[0-9a-f]{32}(?:\.untrusted)?$/
const TEMPORARY = /^\..*\.tmp$/

/** Marks and removes layers that neither `used` nor a stored head has. A failure leaves them for the next time. */
export async function dropUnused(dir: string, used: readonly RemoteLayer[]): Promise<void> {
  try {
    const names = await disk.promises.readdir(dir)
    const heads = await Promise.all(
      names.filter((name) => name.startsWith(STORED_HEAD)).map((name) => disk.promises.readFile(join(dir, name))),
    )
    const named = new Set(
      [...used, ...heads.flatMap((bytes) => unverified(bytes)?.layers ?? [])].map(({ sha256 }) => sha256.slice(0, 32)),
    )
    for (const name of names.filter((each) => LAYER.test(each)))
      await dropLayer(dir, name, named.has(name.slice(0, 32)))
    for (const name of names.filter((each) => TEMPORARY.test(each))) {
      if (await isOld(join(dir, name))) await disk.promises.rm(join(dir, name), { recursive: true, force: true })
    }
  } catch {
    // Layers that are left over cost space only.
  }
}

async function dropLayer(dir: string, name: string, isNamed: boolean): Promise<void> {
  const mark = join(dir, name, '.unused')
  if (isNamed) await disk.promises.rm(mark, { force: true })
  else if (await isOld(mark)) await remove(dir, join(dir, name))
  else await disk.promises.writeFile(mark, '', { flag: 'wx' }).catch(() => undefined) // it may have one
}

/** Removes a damaged layer, unless it was fetched again for that reason before. */
export async function dropDamaged(dir: string, name: string): Promise<void> {
  const mark = join(dir, `.${name}.damaged.tmp`) // `dropUnused` removes it, too
  if (!LAYER.test(name) || (disk.existsSync(mark) && !(await isOld(mark)))) return
  await disk.promises.writeFile(mark, '')
  await remove(dir, join(dir, name))
}

/** Whether a file or directory is older than `UNUSED_MS`. */
async function isOld(path: string): Promise<boolean> {
  const found = await disk.promises.stat(path).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > UNUSED_MS
}

/** Removes a layer. It fails without an error if another process uses it, on Windows. */
export async function remove(dir: string, path: string): Promise<void> {
  const temporary = join(dir, `.${randomUUID()}.tmp`)
  await disk.promises
    .rename(path, temporary)
    .then(() => disk.promises.rm(temporary, { recursive: true, force: true }))
    .catch(() => undefined)
}

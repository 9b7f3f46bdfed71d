/** Reads manifests of a remote, and the record of generations that keeps a reader from going back. */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { VarveError } from 'varve'
import { isCount, isObject } from './json.ts'
import { decodeManifest, type Manifest, MANIFEST_MAX } from './manifest.ts'
import { headName, manifestName, type Remote, type Scope } from './remote.ts'

/** A manifest and the version of its object. */
export interface FoundManifest {
  readonly manifest: Manifest
  readonly etag: string | undefined
}

/** The head of a scope; undefined if there is none. Rejects with REMOTE_UNTRUSTED if its generation is lower than one that was read before. */
export async function readHead(remote: Remote, scope: Scope, signal: AbortSignal): Promise<FoundManifest | undefined> {
  const found = await readManifest(remote, scope, headName(scope), signal)
  if (found === undefined) return undefined
  const { generation } = found.manifest
  const seen = await readGenerations(remote)
  const before = seen[scope.name] ?? 0
  if (generation < before) {
    const why = `it was set back from generation ${before} to ${generation}`
    const fix = `If that was you, remove '${join(remote.dir, GENERATIONS)}'`
    throw new VarveError('REMOTE_UNTRUSTED', `the head of '${scope.name}' is not used: ${why}. ${fix}`)
  }
  if (generation > before) await writeGenerations(remote, { ...seen, [scope.name]: generation })
  return found
}

/** The manifest of the first of these commits that has one; undefined if none has. */
export async function readCommits(remote: Remote, scope: Scope, commits: readonly string[], signal: AbortSignal): Promise<FoundManifest | undefined> {
  const ids = scope.keys === 'none' ? [] : scope.keys.map(({ id }) => id)
  const names = commits.flatMap((commit) => ids.map((id) => manifestName(scope, commit, id)))
  const found = await Promise.all(names.map((name) => readManifest(remote, scope, name, signal)))
  return found.find((each) => each !== undefined)
}

export async function readManifest({ store }: Remote, scope: Scope, name: string, signal: AbortSignal): Promise<FoundManifest | undefined> {
  const found = await store.get(name, { bytesMax: MANIFEST_MAX, signal })
  return found === undefined ? undefined : { manifest: decodeManifest(found.bytes, name, scope.keys), etag: found.etag }
}

const GENERATIONS = 'generations.json'

async function readGenerations({ dir }: Remote): Promise<Record<string, number>> {
  try {
    const value: unknown = JSON.parse(await readFile(join(dir, GENERATIONS), 'utf8'))
    return isObject(value) ? Object.fromEntries(Object.entries(value).filter((entry): entry is [string, number] => isCount(entry[1]))) : {}
  } catch {
    return {} // lost: a reader without a record accepts any generation, as a new machine does
  }
}

async function writeGenerations({ dir }: Remote, generations: Record<string, number>): Promise<void> {
  const temporary = join(dir, `.${randomUUID()}.tmp`)
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await writeFile(temporary, JSON.stringify(generations), { mode: 0o600 })
  await rename(temporary, join(dir, GENERATIONS))
}

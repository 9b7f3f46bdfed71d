/** Reports on a remote: what it has, and whether every byte of it can be trusted. Both write nothing. */
import { VarveError } from 'varve'
import { forEachAtOnce, disk } from './host.ts'
import { bytesOf, cut } from './layer.ts'
import type { RemoteLayer } from './manifest.ts'
import { checkCall } from './options.ts'
import { manifestsOf, namedIn, pathOf, PULL_FIELDS, type PullOptions, readDescription, readVerified } from './pull.ts'
import { chunkName, type Remote, withinBudget } from './remote.ts'

/** A layer of a remote. */
export interface RemoteLayerReport extends RemoteLayer {
  /** Whether it was fetched. */
  readonly isLocal: boolean
}

/** A scope of a remote. */
export interface RemoteScopeReport {
  readonly scope: string
  /** 0 if nothing was published. */
  readonly generation: number
  /** The commit of the last publisher; empty if it named none. */
  readonly commit: string
  /** Time of the last publication, in milliseconds since 1970; 0 if there is none. */
  readonly createdAt: number
  readonly layers: readonly RemoteLayerReport[]
}

/** What a remote has. */
export interface RemoteStatus {
  readonly store: string
  /** Whether this machine has a signing key and may use it. */
  readonly writable: boolean
  readonly scopes: readonly RemoteScopeReport[]
}

/** Reads the manifests of a remote. Rejects as `pull` does. */
export async function remoteStatus(remote: Remote, options: PullOptions = {}): Promise<RemoteStatus> {
  checkCall('remoteStatus', remote, options, PULL_FIELDS)
  const { commits = [], signal: caller } = options
  return withinBudget(remote, caller, async (signal) => {
    const scopes = (await manifestsOf(remote, commits, signal)).map(({ scope, manifest }) => ({
      scope: scope.name,
      generation: manifest?.generation ?? 0,
      commit: manifest?.commit ?? '',
      createdAt: manifest?.createdAt ?? 0,
      layers: (manifest?.layers ?? []).map((layer) => ({
        ...layer,
        isLocal: disk.existsSync(pathOf(remote, { layer, scope })),
      })),
    }))
    return { store: remote.store.label, writable: remote.signingKey !== undefined, scopes }
  })
}

/** The outcome of reading every byte of a remote. */
export interface RemoteVerifyReport {
  /** Whether each object that the manifests name is there, with the bytes of its digest. */
  readonly sound: boolean
  readonly layers: number
  readonly chunks: number
  readonly bytes: number
  /** What is wrong, one sentence for each object. */
  readonly problems: readonly string[]
}

/** Reads every object that the manifests of a remote name, and verifies it. Rejects as `pull` does, but reports objects that are wrong. */
export async function verifyRemote(remote: Remote, options: PullOptions = {}): Promise<RemoteVerifyReport> {
  checkCall('verifyRemote', remote, options, PULL_FIELDS)
  const { commits = [], onProgress, signal: caller } = options
  return withinBudget(remote, caller, async (signal) => {
    const named = namedIn(await manifestsOf(remote, commits, signal))
    const total = bytesOf(named.map(({ layer }) => layer))
    const problems: string[] = []
    let chunks = 0
    let bytes = 0
    const reported = async <T>(work: Promise<T>): Promise<T | undefined> => {
      try {
        return await work
      } catch (error) {
        if (!(error instanceof VarveError) || error.code !== 'REMOTE_UNTRUSTED') throw error
        problems.push(error.message)
        return undefined
      }
    }
    for (const { layer, scope } of named) {
      const description = await reported(readDescription(remote, scope, layer, signal))
      await forEachAtOnce(cut(description ?? { files: [] }).entries(), async ([index, pieces]) => {
        const size = bytesOf(pieces)
        const chunk = await reported(
          readVerified(remote, chunkName(scope, description?.chunks[index] ?? ''), size, signal),
        )
        if (chunk !== undefined) chunks += 1
        bytes += size
        onProgress?.(bytes, total)
      })
    }
    return { sound: problems.length === 0, layers: named.length, chunks, bytes, problems: problems.sort() }
  })
}

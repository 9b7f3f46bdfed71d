/** Reports on a remote: what it has, and whether every byte of it can be trusted. Both write nothing. */
import type { RemoteStatusJson, RemoteVerifyJson } from 'varve/cli-json'
import { VarveError } from 'varve'
import { forEachAtOnce, disk } from './host.ts'
import { bytesOf, cut } from './layer.ts'
import { checkCall } from './options.ts'
import { manifestsOf, namedIn, pathOf, PULL_FIELDS, type PullOptions, readDescription, readVerified } from './pull.ts'
import { chunkName, type Remote, withinBudget } from './remote.ts'

/** What a remote has, and whether this machine has a signing key and may use it. */
export type RemoteStatus = Omit<RemoteStatusJson, 'format'>

/** A scope of a remote. */
export type RemoteScopeReport = RemoteStatus['scopes'][number]

/** A layer of a remote, and whether it was fetched. */
export type RemoteLayerReport = RemoteScopeReport['layers'][number]

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
export type RemoteVerifyReport = Omit<RemoteVerifyJson, 'format'>

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

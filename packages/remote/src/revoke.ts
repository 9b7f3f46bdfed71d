/**
 * Revokes layers: the head loses them and lists their digests. Readers of the head remove them from their directories, and no
 * publisher adds them again. A layer into which a revoked one was merged is revoked with it.
 */
import { VarveError } from 'varve'
import { readCommits } from './heads.ts'
import { type Manifest, type RemoteLayer, REVOKED_MAX } from './manifest.ts'
import { checkCall, CONTROL } from './options.ts'
import { type Publication, updateHead } from './publish.ts'
import { manifestsOf, type RemoteControl } from './pull.ts'
import { asPublisher } from './push.ts'
import type { Remote } from './remote.ts'

/** The outcome of `revoke`. */
export interface RevokeReport {
  /** Generation of the head. */
  readonly generation: number
  /** The layers that readers do not use any more. */
  readonly layers: readonly RemoteLayer[]
}

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

/** The layers below a cache: those of option `layers` or VARVE_LAYERS, then those of the remote. */
import type { VarveError } from '../errors.ts'
import { domainOver, type TrustDomain } from '../health/domain.ts'
import { layersOf, trustedLayers } from '../health/layers.ts'
import { variable } from '../host/permission.ts'
import type { CacheOptions } from '../options.ts'
import type { Attachment } from './attach.ts'

/** The cache that is being opened; without `dir` it is in memory and has no remote. */
export type Above = Pick<CacheOptions, 'name' | 'layers' | 'remote' | 'readOnly' | 'shared'> & {
  readonly dir: string | undefined
}

/** What is below a cache. */
export interface Below {
  readonly layers: readonly string[]
  /** The domain of what is made over them. */
  readonly domain: TrustDomain
  readonly warnings: readonly VarveError[]
  readonly remote: Attachment | undefined
}

/** Layers that no other user can replace. `folder` is the directory of the format in each. */
export async function layersBelow(above: Above, folder: string): Promise<Below> {
  const { dir, remote } = above
  const hasRemote = remote === undefined ? ![undefined, ''].includes(variable('VARVE_REMOTE')) : remote !== false
  const attached =
    hasRemote && dir !== undefined ? await (await import('./attach.ts')).attachRemote({ ...above, dir }) : undefined
  const shared = attached?.layers ?? []
  // VARVE_LAYERS may have layers of the remote, in an older order.
  const own = layersOf(above).filter((layer) => !shared.includes(layer))
  const { layers, warnings } = trustedLayers([...own, ...shared], folder, above)
  return {
    layers,
    domain: attached?.domain === 'untrusted' ? 'untrusted' : domainOver(layers),
    warnings: attached?.warning === undefined ? warnings : [...warnings, attached.warning],
    remote: attached,
  }
}

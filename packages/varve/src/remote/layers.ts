/** The layers below a cache: those of option `layers` or VARVE_LAYERS, then those of the remote. */
import { VarveError } from '../errors.ts'
import { domainOver, type TrustDomain } from '../health/domain.ts'
import { variable } from '../host/permission.ts'
import type { CacheOptions } from '../options.ts'
import type { Attachment } from './attach.ts'
import { builtin } from '../host/builtin.ts'
import { examine } from '../health/place.ts'

/** The cache that is being opened; without `dir` it is in memory and has no remote. */
export type OpeningCache = Pick<CacheOptions, 'name' | 'layers' | 'remote' | 'readOnly' | 'shared'> & {
  readonly dir: string | undefined
}

export interface LayersBelow {
  readonly layers: readonly string[]
  /** The domain of what is made over them. */
  readonly domain: TrustDomain
  readonly warnings: readonly VarveError[]
  readonly remote: Attachment | undefined
}

/** Layers that no other user can replace. `folder` is the directory of the format in each. */
export async function layersBelow(above: OpeningCache, folder: string): Promise<LayersBelow> {
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

// The layers of a cache: option `layers`, or else `VARVE_LAYERS`, directories that have a layer for each cache by its name.
// A layer decides what builds emit like the cache does, so the same rules of trust apply to its directory.

/** The absolute path of a layer. */
export function pathOf(path: string): string {
  return builtin('node:path')?.resolve(path) ?? path
}

/** Absolute paths of the layers of a cache, the newest first. */
export function layersOf({ name, layers }: Pick<CacheOptions, 'name' | 'layers'>): string[] {
  const paths = builtin('node:path')
  const files = builtin('node:fs')
  if (layers !== undefined) return layers.map(pathOf)
  const listed = variable('VARVE_LAYERS')
  if (listed === undefined || paths === undefined || files === undefined) return []
  const found: string[] = []
  for (const directory of listed.split(paths.delimiter).filter((path) => path !== '')) {
    const layer = paths.resolve(directory, name)
    // A directory without a layer of this cache has layers of other tools. A missing directory is reported.
    if (files.existsSync(layer) || !files.existsSync(directory)) found.push(layer)
  }
  return found
}

/** The layers that no other user can replace, and a warning for each of the others. */
function trustedLayers(
  layers: readonly string[],
  folder: string,
  { shared }: Pick<CacheOptions, 'shared'>,
): { readonly layers: readonly string[]; readonly warnings: readonly VarveError[] } {
  const trusted: string[] = []
  const warnings: VarveError[] = []
  for (const layer of layers) {
    const { degraded } = examine(layer, folder, { shared, readOnly: true })
    if (degraded?.mode === 'memory') {
      warnings.push(new VarveError(degraded.code, `the layer '${layer}' is not used: ${degraded.why}; ${degraded.fix}`))
    } else trusted.push(layer)
  }
  return { layers: trusted, warnings }
}

/**
 * The layers of a cache: option `layers`, or else `VARVE_LAYERS`, directories that have a layer for each cache by its name.
 * A layer decides what builds emit like the cache does, so the same rules of trust apply to its directory.
 */
import { builtin } from '../host/builtin.ts'
import { variable } from '../host/permission.ts'
import type { CacheOptions } from '../options.ts'
import { VarveError } from '../errors.ts'
import { examine } from './degraded.ts'

/** The absolute path of a layer. */
export function pathOf(path: string): string {
  return builtin('node:path')?.resolve(path) ?? path
}

/** Absolute paths of the layers of a cache, the newest first. */
export function layersOf({ name, layers }: Pick<CacheOptions, 'name' | 'layers'>): string[] {
  const [paths, files] = [builtin('node:path'), builtin('node:fs')]
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
export function trustedLayers(
  layers: readonly string[],
  folder: string,
  { shared }: Pick<CacheOptions, 'shared'>,
): { readonly layers: readonly string[]; readonly warnings: readonly VarveError[] } {
  const [trusted, warnings]: [string[], VarveError[]] = [[], []]
  for (const layer of layers) {
    const { degraded } = examine(layer, folder, { shared, readOnly: true })
    if (degraded?.mode === 'memory') {
      warnings.push(new VarveError(degraded.code, `the layer '${layer}' is not used: ${degraded.why}; ${degraded.fix}`))
    } else trusted.push(layer)
  }
  return { layers: trusted, warnings }
}

/**
 * What a publication changes in the layers of a scope, without effects.
 *
 * Each layer stays larger than all newer layers of its cache together, in bytes and in entries. A publication that would break this
 * merges the newest layers with its own into one. So a cache has few layers, each entry is written again only as often as the sizes
 * double, and at most half of the entries are hidden by newer ones.
 *
 *   sizes before, the newest first    3   5   20   90
 *   a delta of 4                      3 <= 4, 5 <= 4 + 3, 20 > 12, 90 > 32: both are merged with it
 *   sizes after                       12      20   90
 */
import { MERGED_MAX, type RemoteLayer } from './manifest.ts'

/** The size of a layer. */
export type Size = Pick<RemoteLayer, 'bytes' | 'entries' | 'deletes'>

/** A layer that takes the place of others. */
export interface Change {
  readonly layer: RemoteLayer
  /** The layers that it contains: some that follow each other, of the same cache. None: it is put on top. */
  readonly replaces: readonly RemoteLayer[]
}

/** How many of `layers`, the newest first, are merged with `delta`. Together they have at most `bytesMax`. */
export function countToMerge(layers: readonly Size[], delta: Size, bytesMax: number): number {
  let [bytes, changes, count] = [delta.bytes, delta.entries + delta.deletes, 0]
  for (const [index, layer] of layers.entries()) {
    const isSmall = layer.bytes <= bytes || layer.entries + layer.deletes < changes
    bytes += layer.bytes
    changes += layer.entries + layer.deletes
    if (bytes > bytesMax) break
    if (isSmall) count = index + 1
  }
  return count
}

/** Layers with these changes. Undefined if a layer that is replaced is not there any more: another publisher has merged it. */
export function layersWith(layers: readonly RemoteLayer[], changes: readonly Change[]): RemoteLayer[] | undefined {
  let changed = [...layers]
  for (const { layer, replaces } of changes) {
    if (changed.some((known) => isSame(known, layer))) continue
    const own = changed.filter(({ cache }) => cache === layer.cache)
    const first = own.findIndex((known) => replaces[0] !== undefined && isSame(known, replaces[0]))
    if (replaces.length > 0 && (first === -1 || !replaces.every((each, index) => isSame(own[first + index], each))))
      return undefined
    const at = Math.max(
      0,
      changed.findIndex((known) => isSame(known, replaces[0])),
    )
    changed = [
      ...changed.slice(0, at),
      layer,
      ...changed.slice(at).filter((known) => !replaces.some((each) => isSame(known, each))),
    ]
  }
  return changed
}

/** Whether both are one layer. */
export function isSame(one: RemoteLayer | undefined, other: RemoteLayer | undefined): boolean {
  return one !== undefined && one.sha256 === other?.sha256 && one.cache === other.cache
}

/** What `merged` of a layer has that contains these. */
export function mergedOf(layers: readonly RemoteLayer[]): string[] {
  return layers.flatMap(({ sha256, merged = [] }) => [sha256.slice(0, 16), ...merged]).slice(0, MERGED_MAX)
}

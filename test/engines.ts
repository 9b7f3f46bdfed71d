/** The engines that tests compare. */
import type { CacheOptions } from 'varve'

/** The engines that have a directory on a disk. */
export const ENGINES = ['native', 'wasm'] as const
export type EngineName = (typeof ENGINES)[number]

/** Options of a cache in memory that tests find again by the directory that it does not have. */
export function inMemory<Options extends Partial<CacheOptions>>(
  options: Options,
): Options & Pick<CacheOptions, 'name' | 'inMemory'> {
  const name = (options.dir ?? '').replaceAll(/[^A-Za-z0-9]+/g, '-').slice(-99)
  return { ...options, name: `m${name}`, dir: undefined, inMemory: true }
}

/** The engines that have a folder on a disk. */
export const ENGINES = ['native', 'wasm'] as const
export type EngineName = (typeof ENGINES)[number]

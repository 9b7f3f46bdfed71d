/** Where the WebAssembly engine finds the files of a cache, and who compacts it. */
import type { Host } from '../../generated/varve_wasm.js'
import type { Compacted } from './compact-order.ts'
import type { Engine, EngineControl, EngineOptions } from './engine.ts'

/** Compacts the cache on another thread; undefined if this one is quicker. */
export type CompactElsewhere = (
  full: boolean,
  control: EngineControl,
  options: EngineOptions,
  module: WebAssembly.Module,
) => Compaction
type Compaction = Promise<Compacted | undefined> | undefined

/** Where the files of a cache are. */
export interface WasmPlace {
  readonly host: Host
  /** The same place as a path; undefined where the files are in memory. */
  readonly folder?: string
  readonly compactElsewhere?: CompactElsewhere
}

/** The place of a cache: folder `name` in its directory. */
export type WasmPlaces = (directory: string, name: string) => WasmPlace

/** The files of a layer: folder `name` in its directory. They are on the disk, also for a cache in memory. */
export type LayerHosts = (directory: string, name: string) => Host

/** The engine over files of some kind. */
export type MakeWasmEngine = (placeOf: WasmPlaces, layerHost: LayerHosts) => Promise<Engine>

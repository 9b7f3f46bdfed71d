/** Where the WebAssembly engine finds the files of a cache, and what it exchanges with the worker that compacts it. */
import type { Host } from '../../generated/varve_wasm.js'
import type { CompactReport, Damage, Engine, EngineControl, EngineOptions } from './engine.ts'

/** Compacts the cache on another thread; undefined if this one is quicker. */
export type CompactElsewhere = (
  full: boolean,
  control: EngineControl,
  options: EngineOptions,
  module: WebAssembly.Module,
) => Compaction
type Compaction = Promise<CompactOutcome | undefined> | undefined

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

// The main thread and the worker of `compact-elsewhere.ts` exchange an order, then shared memory, and one message at the end. Progress goes through shared memory, because a message takes the lock of its port: the main thread would wait whenever the
// system stops the worker inside it.

/** Places in `CompactOrder.flags`: anything but 0 stops the worker; it sets the other one when it begins. */
export const STOP = 0
export const RUNS = 1

export interface CompactOrder {
  readonly directory: string
  readonly full: boolean
  readonly options: Omit<EngineOptions, 'secret'>
  /** The engine, compiled by the thread that gives the order. */
  readonly module: WebAssembly.Module
  readonly flags: Int32Array<SharedArrayBuffer>
  /** Bytes done and in all. */
  readonly progress: Float64Array<SharedArrayBuffer>
}

/** The outcome of a compaction, and the damage that it detected. */
export interface CompactOutcome {
  readonly report: CompactReport
  readonly damage: readonly Damage[]
}

export type CompactNews = CompactOutcome | { readonly code: string; readonly message: string }

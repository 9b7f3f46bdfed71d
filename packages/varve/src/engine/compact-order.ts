/**
 * What the main thread and the worker of `compact-elsewhere.ts` exchange: an order, then shared memory, and one message at the
 * end. Progress goes through shared memory, because a message takes the lock of its port: the main thread would wait whenever the
 * system stops the worker inside it.
 */
import type { CompactReport, Damage, EngineOptions } from './engine.ts'

/** Places in `CompactOrder.flags`: anything but 0 stops the worker; it sets the other one when it begins. */
export const STOP = 0
export const RUNS = 1

/** The order for the worker. */
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
export interface Compacted {
  readonly report: CompactReport
  readonly damage: readonly Damage[]
}

/** The message of the worker. */
export type CompactNews = Compacted | { readonly code: string; readonly message: string }

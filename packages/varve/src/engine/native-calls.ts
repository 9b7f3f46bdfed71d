/** The calls of the addon, as types. napi-derive makes most of them (`generated/native.d.ts`) from `crates/node/src`. */
import type * as addon from '../../generated/native.js'
import type { NodeStore, Progress } from '../../generated/native.js'
import type { EngineStore } from './engine.ts'

/** What the addon exports. */
export type NativeAddon = typeof addon

export type { NodeStore, Progress }

declare module '../../generated/native.js' {
  /** What runs for each entry (`crates/node/src/hot.rs`): properties of the object, which take less time than methods. */
  interface NodeStore {
    readonly get: EngineStore['get']
    /** In `native-find.ts`. */
    readonly find: (key: string) => void
    readonly read: EngineStore['read']
    readonly has: EngineStore['has']
    readonly put: EngineStore['put']
    readonly delete: EngineStore['delete']
    readonly getMany: EngineStore['getMany']
  }
}

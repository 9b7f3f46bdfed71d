/**
 * What a cache and its namespaces share: the engine's store while it is open, the scratch memory, the calls under way
 * and the warnings. Here an engine's error becomes a VarveError.
 */
import type { EngineStore } from './engine.ts'
import { type ErrorCode, toVarveError, VarveError } from './errors.ts'
import { KEY_ROOM_BYTES } from './key.ts'

/** Failures of reading that cost a miss and a warning, never the host's build. */
const MISSES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['IO', 'PERMISSION', 'DISK_FULL', 'DAMAGED', 'BUSY', 'INTERNAL'])

/** Keys of getMany are packed until they exceed this, then cross to the engine. */
export const PACK_BYTES: number = 256 * 1024

/** One open cache on one thread. */
export class Session {
  /** Version of the cache, part of each namespace's. */
  readonly version: string
  #store: EngineStore | undefined
  #scratchOfEngine: Uint8Array | undefined
  #scratch: Uint8Array = new Uint8Array(0)
  #pack: Uint8Array | undefined
  readonly #underWay: Set<Promise<unknown>> = new Set()
  readonly #warned: Set<string> = new Set()
  readonly #onWarning: (warning: VarveError) => void

  constructor(store: EngineStore, version: string, onWarning: ((warning: VarveError) => void) | undefined) {
    this.#store = store
    this.version = version
    this.#onWarning = onWarning ?? emitWarning
  }

  /** The store. Throws CLOSED after `close`. */
  get store(): EngineStore {
    return this.#store ?? throwClosed()
  }

  /** Throws CLOSED after `close`. */
  checkOpen(): void {
    if (this.#store === undefined) throwClosed()
  }

  /** The scratch memory of `store`, to be asked for anew after each call of the engine. */
  scratchOf(store: EngineStore): Uint8Array {
    const scratch = store.scratch
    if (scratch !== this.#scratchOfEngine) {
      this.#scratchOfEngine = scratch
      this.#scratch = new Uint8Array(scratch.buffer, scratch.byteOffset, scratch.length)
    }
    return this.#scratch
  }

  /** Memory for PACK_BYTES of keys and one more. */
  get pack(): Uint8Array {
    this.#pack ??= new Uint8Array(PACK_BYTES + KEY_ROOM_BYTES)
    return this.#pack
  }

  /** Runs a synchronous call of the engine. */
  call<T>(run: (store: EngineStore) => T): T {
    const store = this.store
    try {
      return run(store)
    } catch (error) {
      throw toVarveError(error)
    }
  }

  /** Runs an asynchronous call of the engine; `close` waits for it. */
  async run<T>(start: (store: EngineStore) => Promise<T>): Promise<T> {
    const store = this.store
    let call: Promise<T> | undefined
    try {
      call = start(store)
      this.#underWay.add(call)
      return await call
    } catch (error) {
      throw toVarveError(error)
    } finally {
      if (call !== undefined) this.#underWay.delete(call)
    }
  }

  /** Makes every later call throw CLOSED, waits for those under way, closes the store. */
  async close(): Promise<void> {
    const store = this.store
    this.#store = undefined
    await Promise.allSettled(this.#underWay)
    try {
      await store.close()
    } catch (error) {
      throw toVarveError(error)
    }
  }

  /** What a failed read comes to: a miss and a warning where the folder is to blame, else the error itself. */
  miss(error: unknown): undefined {
    const failure = toVarveError(error)
    if (!MISSES.has(failure.code)) throw failure
    this.warn(failure)
    return undefined
  }

  /** Tells a warning, the first of its kind only. A listener that throws is the listener's problem, not the cache's. */
  warn(warning: VarveError, kind: string = warning.code): void {
    if (this.#warned.has(kind)) return
    this.#warned.add(kind)
    try {
      this.#onWarning(warning)
    } catch {
      // The host asked to be told; what it does then must not fail a lookup.
    }
  }
}

function throwClosed(): never {
  throw new VarveError('CLOSED', 'the cache is closed; open it again to go on')
}

function emitWarning(warning: VarveError): void {
  const host = globalThis.process
  if (typeof host?.emitWarning === 'function') host.emitWarning(warning.message, { type: 'VarveWarning', code: warning.code })
}

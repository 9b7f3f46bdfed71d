/** The WebAssembly engine on the origin private file system of a browser, in a dedicated worker. */
import type { Engine, EngineStore } from '../engine.ts'
import { memoryHost } from '../host-memory.ts'
import type { MakeWasmEngine } from '../wasm-place.ts'
import { Slots } from './slots.ts'

/** Calls of a store that may create files. */
const CREATING = ['commit', 'commitImport', 'flush', 'compact', 'repair', 'close'] as const

/** How often a call is tried that finds too few free slots; each time there are twice as many. */
const ATTEMPTS = 10

/** Whether this thread can use the file system. */
export function hasPrivateFiles(): boolean {
  const File: unknown = Reflect.get(globalThis, 'FileSystemFileHandle')
  return typeof File === 'function' && 'createSyncAccessHandle' in File.prototype
}

/** The engine for one cache in `directory`. Rejects if another worker or tab has it open. */
export async function privateEngine(directory: string, make: MakeWasmEngine): Promise<Engine> {
  const slots = await Slots.open(directory)
  const engine = await make(
    (_, name) => ({ host: slots.host(name) }),
    (layer, name) => memoryHost(`${layer}/${name}`),
  )
  const open: Engine['open'] = async (at, options) => {
    try {
      return reserving(await engine.open(at, options), slots)
    } catch (error) {
      slots.close()
      throw error
    }
  }
  return { ...engine, open }
}

/**
 * The same store, with free slots again after each call that may create files. A call begins at once, because a commit has what was put
 * before it. One that finds too few slots is repeated with more of them.
 */
function reserving(store: EngineStore, slots: Slots): EngineStore {
  for (const name of CREATING) {
    const call: unknown = store[name].bind(store)
    if (typeof call !== 'function') continue
    const repeated = async (...args: readonly unknown[]): Promise<unknown> => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await call(...args)
        } catch (error) {
          if (!slots.isShort || attempt === ATTEMPTS) throw error
          await slots.reserve()
        }
      }
    }
    const refill = (): Promise<void> => slots.reserve().catch(() => undefined) // the next call that is short reports it
    const refilling = (...args: readonly unknown[]): Promise<unknown> => repeated(...args).finally(refill)
    const closing = (): Promise<unknown> => repeated().finally(() => slots.close())
    Object.defineProperty(store, name, { value: name === 'close' ? closing : refilling })
  }
  return store
}

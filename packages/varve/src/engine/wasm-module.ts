/**
 * The WebAssembly instance of this thread. After a trap its state is unknown: Varve discards it, all its stores fail with
 * INTERNAL, and the next cache gets a new instance.
 */
import { bytes } from '../../generated/bytes.js'
import { initSync, reset, watchPanics } from '../../generated/varve_wasm.js'
import { EngineFailure } from './answer.ts'

let module: WebAssembly.Module | undefined
let memory: WebAssembly.Memory | undefined
let generation = 0
let panicText = ''
/** What the present instance holds outside of its memory, each as a way to let go of it. */
const held = new Set<() => void>()

/** The number of the present instance and its memory; makes the instance if there is none. */
export function instance(): { readonly generation: number; readonly memory: WebAssembly.Memory } {
  if (memory === undefined) {
    try {
      module ??= new WebAssembly.Module(decode(bytes))
      memory = begin(module)
    } catch (error) {
      throw new EngineFailure('ENGINE_UNAVAILABLE', `cannot start the WebAssembly engine: ${reasonOf(error)}`, { cause: error })
    }
  }
  return { generation, memory }
}

/** V8 reserves some 10 GB of address space for a memory, so that it need not check each access. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  if (!(error instanceof RangeError)) return `${text}. Install the native engine (npm install varve with optional dependencies)`
  const ways = 'raise the limit (ulimit -v), install the native engine, or run Node.js 22 with --disable-wasm-trap-handler'
  return `${text}. It needs about 10 GB of address space: ${ways}`
}

/** Makes the instance that is due, or the first one, and returns its memory: each has its own. */
function begin(compiled: WebAssembly.Module): WebAssembly.Memory {
  initSync({ module: compiled })
  watchPanics({ panicked: (text) => void (panicText = text) }) // the first call after a reset replaces the instance
  return initSync({ module: compiled }).memory
}

/** Has `release` called should the present instance be given up; the answer takes that back. */
export function whenTrapped(release: () => void): () => void {
  held.add(release)
  return () => void held.delete(release)
}

/** Whether instance `owner` is the present one. */
export function isPresent(owner: number): boolean {
  return owner === generation
}

/** Runs a call into instance `owner`; a trap becomes an error. */
export function guarded<T>(owner: number, call: () => T): T {
  if (!isPresent(owner)) throw stopped()
  try {
    return call()
  } catch (error) {
    // What Rust throws on purpose is a text; any exception of WebAssembly itself is a trap.
    if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
      generation++
      for (const release of held) release()
      held.clear()
      reset()
      if (module !== undefined) memory = begin(module)
      throw stopped(error)
    }
    throw error
  }
}

function stopped(cause?: unknown): EngineFailure {
  const text = panicText === '' ? String(cause ?? 'another cache in this thread met a trap') : panicText
  const message = `the engine failed: ${text}; this cache is closed, its files are intact. Reopen it to continue, and please report this message`
  return new EngineFailure('INTERNAL', message, { cause })
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  if (globalThis.Buffer !== undefined) return Uint8Array.from(globalThis.Buffer.from(base64, 'base64'))
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

/**
 * The WebAssembly instance of this thread. A trap leaves it in doubt: it is given up, every store in it answers
 * INTERNAL from then on, and the next cache that is opened gets a fresh one.
 */
import { bytes } from '../../generated/bytes.js'
import { initSync, reset, watchPanics } from '../../generated/varve_wasm.js'
import { EngineFailure } from './answer.ts'

let memory: WebAssembly.Memory | undefined
let generation = 0
let panicText = ''

/** The number of the present instance and its memory; makes the instance if there is none. */
export function instance(): { readonly generation: number; readonly memory: WebAssembly.Memory } {
  if (memory === undefined) {
    const module = new WebAssembly.Module(decode(bytes))
    memory = initSync({ module }).memory
    watchPanics({ panicked: (text) => void (panicText = text) })
  }
  return { generation, memory }
}

/** Runs a call into instance `owner`; a trap becomes an error. */
export function guarded<T>(owner: number, call: () => T): T {
  if (owner !== generation) throw stopped()
  try {
    return call()
  } catch (error) {
    // What Rust throws on purpose is a text; any exception of WebAssembly itself is a trap.
    if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
      generation++
      reset()
      watchPanics({ panicked: (text) => void (panicText = text) })
      throw stopped(error)
    }
    throw error
  }
}

/** Memory of the present instance. */
export function currentMemory(): WebAssembly.Memory {
  return memory ?? instance().memory
}

function stopped(cause?: unknown): EngineFailure {
  const text = panicText === '' ? String(cause ?? 'another cache in this thread met a trap') : panicText
  const message = `the engine failed: ${text}; this cache stops here, the files are safe; open it again and please report the text`
  return new EngineFailure('INTERNAL', message, { cause })
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  if (globalThis.Buffer !== undefined) return Uint8Array.from(globalThis.Buffer.from(base64, 'base64'))
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

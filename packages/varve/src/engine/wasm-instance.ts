/**
 * The instance of a WebAssembly module in this thread. After a trap its state is unknown: Varve discards it, all its
 * objects fail with INTERNAL, and the next call gets a new instance.
 */
import { builtin } from '../host/builtin.ts'
import { EngineFailure } from './answers.ts'
import type * as workers from 'node:worker_threads'
import type { Host } from '../../generated/varve_wasm.js'

/** The part of the glue that is the same for every module. */
export interface Glue {
  initSync(options: { module: WebAssembly.Module }): { readonly memory: WebAssembly.Memory }
  reset(): void
  watchPanics(listener: { panicked(text: string): void }): void
}

/** One module and its instance, which is made at the first call. */
export class WasmInstance {
  readonly #source: string | WebAssembly.Module
  /** The bytes of the module, once `prepare` has decompressed them. */
  #bytes: Uint8Array<ArrayBuffer> | undefined
  readonly #glue: Glue
  readonly #outcome: string
  #module: WebAssembly.Module | undefined
  #memory: WebAssembly.Memory | undefined
  #generation = 0
  #panicText = ''
  /** What the present instance holds outside of its memory, each as a way to release it. */
  readonly #held = new Set<() => void>()

  /** @param source the module as base64 of gzip, or the compiled module of another thread @param outcome what a trap leads to */
  constructor(source: string | WebAssembly.Module, glue: Glue, outcome: string) {
    this.#outcome = outcome
    this.#source = source
    this.#glue = glue
  }

  /** Takes the module that another thread has compiled, or decompresses it: all other calls need that. */
  async prepare(): Promise<void> {
    if (typeof WebAssembly === 'undefined') throw noWebAssembly()
    if (this.#bytes !== undefined || typeof this.#source !== 'string') return
    this.#module ??= compiledModule(this.#source)
    if (this.#module === undefined) this.#bytes = await decompressed(decode(this.#source))
  }

  /** The number of the present instance and its memory; makes the instance if there is none. */
  get(): { readonly generation: number; readonly memory: WebAssembly.Memory } {
    if (this.#memory === undefined) {
      try {
        this.#memory = this.#begin(this.module())
      } catch (error) {
        throw new EngineFailure('ENGINE_UNAVAILABLE', `cannot start the WebAssembly engine: ${reasonOf(error)}`, {
          cause: error,
        })
      }
    }
    return { generation: this.#generation, memory: this.#memory }
  }

  /** The compiled module, which other threads can use too. */
  module(): WebAssembly.Module {
    if (this.#module !== undefined) return this.#module
    if (typeof this.#source !== 'string') return (this.#module = this.#source)
    this.#module = new WebAssembly.Module(this.#bytes ?? new Uint8Array(0))
    publishModule(this.#source, this.#module)
    return this.#module
  }

  /** Calls `release` if the present instance is discarded. The result cancels that. */
  whenTrapped(release: () => void): () => void {
    this.#held.add(release)
    return () => void this.#held.delete(release)
  }

  /** Whether instance `owner` is the present one. */
  isPresent(owner: number): boolean {
    return owner === this.#generation
  }

  /** Runs a call into instance `owner`; a trap becomes an error. */
  guarded<T>(owner: number, call: () => T): T {
    if (!this.isPresent(owner)) throw this.#stopped()
    try {
      return call()
    } catch (error) {
      // What Rust throws on purpose is a text; any exception of WebAssembly itself is a trap.
      if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
        this.#generation++
        for (const release of this.#held) release()
        this.#held.clear()
        this.#glue.reset()
        this.#memory = this.#begin(this.module())
        throw this.#stopped(error)
      }
      throw error
    }
  }

  /** Makes the instance that is due, or the first one, and returns its memory: each has its own. */
  #begin(compiled: WebAssembly.Module): WebAssembly.Memory {
    this.#glue.initSync({ module: compiled })
    this.#glue.watchPanics({ panicked: (text) => void (this.#panicText = text) }) // the first call after a reset replaces the instance
    return this.#glue.initSync({ module: compiled }).memory
  }

  #stopped(cause?: unknown): EngineFailure {
    const text = this.#panicText === '' ? String(cause ?? 'another cache in this thread met a trap') : this.#panicText
    return new EngineFailure(
      'INTERNAL',
      `the engine failed: ${text}; ${this.#outcome}, and please report this message`,
      { cause },
    )
  }
}

function noWebAssembly(): EngineFailure {
  const why = 'this process has no WebAssembly, as under --jitless of Node.js'
  return new EngineFailure(
    'ENGINE_UNAVAILABLE',
    `cannot start the WebAssembly engine: ${why}. Use the native engine (npm install varve with optional dependencies)`,
  )
}

/** V8 reserves some 10 GB of address space for a memory, so that it need not check each access. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  if (!(error instanceof RangeError))
    return `${text}. Install the native engine (npm install varve with optional dependencies)`
  const ways =
    'raise the limit (ulimit -v), install the native engine, or run Node.js 22 with --disable-wasm-trap-handler'
  return `${text}. It needs about 10 GB of address space: ${ways}`
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  const { Buffer } = globalThis
  if (typeof Buffer?.from === 'function') return Uint8Array.from(Buffer.from(base64, 'base64'))
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

/** A stream of the web takes threefold as long as `node:zlib`, which browsers do not have. */
async function decompressed(gzip: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const zlib = builtin('node:zlib')
  if (zlib !== undefined) return Uint8Array.from(zlib.gunzipSync(gzip))
  const stream = new Blob([gzip]).stream().pipeThrough(new DecompressionStream('gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

// Modules of WebAssembly that this thread or the one that started it has compiled. Node.js hands the data of
// `setEnvironmentData` to each new worker thread, where it shares the code: such a thread neither decompresses nor compiles.

/** Undefined if neither has compiled the module of this `source`, base64 of gzip. */
function compiledModule(source: string): WebAssembly.Module | undefined {
  const found: unknown = nodeThreads()?.getEnvironmentData(keyOf(source))
  return found instanceof WebAssembly.Module ? found : undefined
}

/** Hands `module` to the threads that this one starts from now on. */
function publishModule(source: string, module: WebAssembly.Module): void {
  nodeThreads()?.setEnvironmentData(keyOf(source), module)
}

/** Gzip ends with the checksum and the length of the module. */
const keyOf = (source: string): string => `varve: WebAssembly module ${source.slice(-12)}`

/** Undefined in Bun and Deno: what they cannot copy would fail every worker that the program starts. */
function nodeThreads(): typeof workers | undefined {
  const { versions } = globalThis.process ?? {}
  return versions?.bun === undefined && versions?.deno === undefined ? builtin('node:worker_threads') : undefined
}

// A host that knows which of its files are open. An instance that a trap has ended closes none of them any more, so they
// are closed for it.

/** The host of an instance: it closes the instance's open files after a trap. */
export function heldHost(host: Host, instance: WasmInstance): Host {
  const forgets = new Map<number, () => void>()
  const opened = (file: number): number => {
    if (file >= 0)
      forgets.set(
        file,
        instance.whenTrapped(() => host.close(file)),
      )
    return file
  }
  return {
    ...host,
    open: (name) => opened(host.open(name)),
    createNew: (name) => opened(host.createNew(name)),
    folder: (name) => heldHost(host.folder(name), instance),
    close(file) {
      forgets.get(file)?.()
      forgets.delete(file)
      host.close(file)
    },
  }
}

/**
 * Modules of WebAssembly that this thread or the one that started it has compiled. Node.js hands the data of
 * `setEnvironmentData` to each new worker thread, where it shares the code: such a thread neither decompresses nor compiles.
 */
import type * as workers from 'node:worker_threads'
import { builtin } from '../host/builtin.ts'

/** Undefined if neither has compiled the module of this `source`, base64 of gzip. */
export function compiledModule(source: string): WebAssembly.Module | undefined {
  const found: unknown = nodeThreads()?.getEnvironmentData(keyOf(source))
  return found instanceof WebAssembly.Module ? found : undefined
}

/** Hands `module` to the threads that this one starts from now on. */
export function publishModule(source: string, module: WebAssembly.Module): void {
  nodeThreads()?.setEnvironmentData(keyOf(source), module)
}

/** Gzip ends with the checksum and the length of the module. */
const keyOf = (source: string): string => `varve: WebAssembly module ${source.slice(-12)}`

/** Undefined in Bun and Deno: what they cannot copy would fail every worker that the program starts. */
function nodeThreads(): typeof workers | undefined {
  const { versions } = globalThis.process ?? {}
  return versions?.bun === undefined && versions?.deno === undefined ? builtin('node:worker_threads') : undefined
}

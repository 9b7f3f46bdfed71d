/** What exports and imports share: streams of Node.js and of the web, pauses, and progress reports. */
import type { EngineControl } from '../engine/engine.ts'
import { toVarveError, VarveError } from '../errors.ts'
import { runningMs } from '../host/own.ts'
import { isBytes, plainBytes } from '../values/bytes.ts'

/** The part of `Writable` of Node.js that an export uses. */
interface NodeTarget {
  write(chunk: Uint8Array, callback: (error?: Error | null) => void): boolean
  on(event: 'error' | 'close', listener: (error?: Error) => void): unknown
  off(event: 'error' | 'close', listener: (error?: Error) => void): unknown
}

/** The part of `WritableStream` that an export uses. */
interface WebTarget {
  getWriter(): { write(chunk: Uint8Array): Promise<void>; releaseLock(): void }
}

/** A stream that an export writes to: `Writable` of Node.js or `WritableStream`. */
export type ExportTarget = NodeTarget | WebTarget

/** The part of `ReadableStream` that an import uses. */
interface WebSource {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | string | undefined }>
    cancel(reason?: unknown): Promise<void>
    releaseLock(): void
  }
}

/** A stream that takes chunks one by one. */
export interface Sink {
  /** Writes a chunk once the stream has taken the one before, so that memory holds two at most. */
  write(chunk: Uint8Array): Promise<void>
  /** Waits until the stream has taken the last chunk. The stream stays open. */
  finish(): Promise<void>
  /** Gives the stream back to the caller, also after a failure. */
  release(): void
}

/** The target as a sink. Throws INVALID_ARGUMENT unless it is one of both kinds of stream. */
export function sinkOf(target: ExportTarget, signal: AbortSignal | undefined): Sink {
  if (typeof target !== 'object' || target === null) throw notAStream()
  if ('getWriter' in target && typeof target.getWriter === 'function') return webSink(target, signal)
  if ('write' in target && typeof target.write === 'function' && typeof target.on === 'function')
    return nodeSink(target, signal)
  throw notAStream()
}

function nodeSink(target: NodeTarget, signal: AbortSignal | undefined): Sink {
  // The callback of `write` reports a failure; without a listener the event would also end the process.
  const ignore = (): void => {}
  target.on('error', ignore)
  // A transform that is destroyed does not call back for a chunk that it holds.
  let fail: (error: Error) => void = ignore
  const closed = (): void => fail(new Error('it was closed before it took everything'))
  target.on('close', closed)
  let last: Promise<void> = Promise.resolve()
  return {
    async write(chunk) {
      await taken(last, signal)
      last = new Promise((resolve, reject) => {
        fail = reject
        target.write(chunk, (error) => (error === undefined || error === null ? resolve() : reject(error)))
      })
      last.catch(ignore)
    },
    async finish() {
      await taken(last, signal)
      target.off('error', ignore)
    },
    release: () => void target.off('close', closed),
  }
}

function webSink(target: WebTarget, signal: AbortSignal | undefined): Sink {
  const writer = locked(() => target.getWriter())
  let last: Promise<void> = Promise.resolve()
  return {
    async write(chunk) {
      await taken(last, signal)
      last = writer.write(chunk)
      last.catch(() => {})
    },
    finish: () => taken(last, signal),
    release: () => writer.releaseLock(),
  }
}

/** Waits until a stream has taken what was written. Rejects with IO if the stream fails, and with CANCELLED. */
export async function taken(last: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  try {
    await unlessAborted(last, signal)
  } catch (cause) {
    throw cause instanceof VarveError ? cause : streamFailed(cause)
  }
}

/** What an import reads: a stream of Node.js or of the web, or any iterable of bytes or text. */
export type ImportSource = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string> | WebSource

/** The chunks of a source. Leaving the loop closes it. Throws INVALID_ARGUMENT if it is not a source. */
export async function* chunksOf(source: ImportSource, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const { next, close } = readerOf(source)
  const encoder = new TextEncoder()
  try {
    for (;;) {
      const { done, value } = await read(next, signal)
      if (done === true) return
      const chunk: unknown = typeof value === 'string' ? encoder.encode(value) : value
      if (!isBytes(chunk)) throw new VarveError('INVALID_ARGUMENT', 'a chunk of the input is neither bytes nor text')
      yield plainBytes(chunk)
    }
  } finally {
    // A source that never answers must not keep the caller waiting here either.
    void close().catch(() => {})
  }
}

type Step = { readonly done?: boolean | undefined; readonly value?: unknown }

function readerOf(source: ImportSource): { next(): Promise<Step> | Step; close(): Promise<unknown> } {
  if (typeof source !== 'object' || source === null || isBytes(source)) throw notAStream()
  if ('getReader' in source) {
    const reader = locked(() => source.getReader())
    return { next: () => reader.read(), close: () => reader.cancel().then(() => reader.releaseLock()) }
  }
  const make: unknown = Reflect.get(source, Symbol.asyncIterator) ?? Reflect.get(source, Symbol.iterator)
  if (typeof make !== 'function') throw notAStream()
  const iterator: AsyncIterator<unknown> | Iterator<unknown> = Reflect.apply(make, source, [])
  return { next: () => iterator.next(), close: async () => iterator.return?.() }
}

async function read(next: () => Promise<Step> | Step, signal: AbortSignal | undefined): Promise<Step> {
  try {
    return await unlessAborted(Promise.resolve(next()), signal)
  } catch (cause) {
    throw cause instanceof VarveError ? cause : streamFailed(cause)
  }
}

/** The outcome of `work`, unless the signal comes first: then CANCELLED, or CLOSED if that is its reason. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  let stop = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(stopped(signal.reason))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function stopped(reason: unknown): VarveError {
  return reason instanceof VarveError && reason.code === 'CLOSED'
    ? reason
    : new VarveError('CANCELLED', 'stopped on request', { cause: reason })
}

const PAUSE_MS = 25
const PROGRESS_MS = 50

/** When this thread last yielded to other work; a series of short calls must yield, too. */
let paused = 0

/** Reports the progress of a long loop every 50 ms, and yields to other work of the thread every 25 ms. */
export class Steps {
  readonly #control: EngineControl
  #reported = 0

  constructor(control: EngineControl) {
    this.#control = control
  }

  /** Call after each step. Throws CANCELLED if the signal is aborted. */
  async step(done: number, total: number): Promise<void> {
    const now = runningMs()
    if (now - this.#reported >= PROGRESS_MS) {
      this.#reported = now
      this.#control.onProgress?.(done, total)
    }
    if (now - paused >= PAUSE_MS) {
      await new Promise<void>((resolve) => void (globalThis.setImmediate ?? setTimeout)(resolve))
      paused = runningMs()
    }
    const { signal } = this.#control
    if (signal?.aborted === true) throw new VarveError('CANCELLED', 'stopped on request', { cause: signal.reason })
  }
}

/** The reader or writer of a stream. Throws INVALID_ARGUMENT if it has another one. */
export function locked<T>(lock: () => T): T {
  try {
    return lock()
  } catch (cause) {
    throw new VarveError('INVALID_ARGUMENT', `the stream cannot be used: ${toVarveError(cause).cause}`, { cause })
  }
}

function streamFailed(cause: unknown): VarveError {
  return new VarveError('IO', `the stream failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
}

function notAStream(): VarveError {
  const files = 'for a file take createReadStream or createWriteStream of node:fs'
  return new VarveError('INVALID_ARGUMENT', `expected a stream of Node.js or of the web; ${files}`)
}

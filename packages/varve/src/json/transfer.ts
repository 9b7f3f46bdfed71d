/** What exports and imports share: streams of Node.js and of the web, pauses, and progress now and then. */
import type { EngineControl } from '../engine/engine.ts'
import { toVarveError, VarveError } from '../errors.ts'

/** As much of `Writable` of Node.js as an export needs. */
export interface NodeTarget {
  write(chunk: Uint8Array, callback: (error?: Error | null) => void): boolean
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

/** As much of `WritableStream` as an export needs. */
export interface WebTarget {
  getWriter(): { write(chunk: Uint8Array): Promise<void>; releaseLock(): void }
}

/** As much of `ReadableStream` as an import needs. */
export interface WebSource {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | string | undefined }>
    cancel(reason?: unknown): Promise<void>
    releaseLock(): void
  }
}

/** A stream that takes chunks one by one. */
export interface Sink {
  /** Hands over a chunk, once the one before was taken: two of them are in memory at most. */
  write(chunk: Uint8Array): Promise<void>
  /** Waits until the last chunk was taken. The stream stays open. */
  finish(): Promise<void>
}

/** The target as a sink. Throws INVALID_ARGUMENT where it is neither kind of stream. */
export function sinkOf(target: NodeTarget | WebTarget, signal: AbortSignal | undefined): Sink {
  if (typeof target !== 'object' || target === null) throw notAStream()
  if ('getWriter' in target && typeof target.getWriter === 'function') return webSink(target, signal)
  if ('write' in target && typeof target.write === 'function') return nodeSink(target, signal)
  throw notAStream()
}

function nodeSink(target: NodeTarget, signal: AbortSignal | undefined): Sink {
  // Whoever writes hears of a failure by the callback; without a listener it would end the process as well.
  const ignore = (): void => {}
  target.on('error', ignore)
  let last: Promise<void> = Promise.resolve()
  return {
    async write(chunk) {
      await taken(last, signal)
      last = new Promise((resolve, reject) => {
        target.write(chunk, (error) => (error === undefined || error === null ? resolve() : reject(error)))
      })
      last.catch(ignore)
    },
    async finish() {
      await taken(last, signal)
      target.off('error', ignore)
    },
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
    async finish() {
      await taken(last, signal)
      writer.releaseLock()
    },
  }
}

async function taken(last: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  try {
    await unlessAborted(last, signal)
  } catch (cause) {
    throw cause instanceof VarveError ? cause : streamFailed(cause)
  }
}

/** What to read from: a stream of Node.js or of the web, or anything that can be looped over. */
export type ImportSource = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string> | WebSource

/** The chunks of a source. Leaving the loop closes it. Throws INVALID_ARGUMENT where it is none. */
export async function* chunksOf(source: ImportSource, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const { next, close } = readerOf(source)
  const encoder = new TextEncoder()
  try {
    for (;;) {
      const { done, value } = await read(next, signal)
      if (done === true) return
      const chunk: unknown = typeof value === 'string' ? encoder.encode(value) : value
      if (!(chunk instanceof Uint8Array)) throw new VarveError('INVALID_ARGUMENT', 'a chunk of the input is neither bytes nor text')
      yield chunk
    }
  } finally {
    // A source that never answers must not keep the caller waiting here either.
    void close().catch(() => {})
  }
}

type Step = { readonly done?: boolean | undefined; readonly value?: unknown }

function readerOf(source: ImportSource): { next(): Promise<Step> | Step; close(): Promise<unknown> } {
  if (typeof source !== 'object' || source === null || source instanceof Uint8Array) throw notAStream()
  if ('getReader' in source) {
    const reader = locked(() => source.getReader())
    return { next: () => reader.read(), close: () => reader.cancel().then(() => reader.releaseLock()) }
  }
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]?.()
  if (iterator === undefined) throw notAStream()
  return { next: () => iterator.next(), close: async () => iterator.return?.() }
}

async function read(next: () => Promise<Step> | Step, signal: AbortSignal | undefined): Promise<Step> {
  try {
    return await unlessAborted(Promise.resolve(next()), signal)
  } catch (cause) {
    throw cause instanceof VarveError ? cause : streamFailed(cause)
  }
}

/** The outcome of `work`, unless the signal comes first: then CANCELLED. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  let stop = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(new VarveError('CANCELLED', 'stopped on request', { cause: signal.reason }))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const PAUSE_MS = 25
const PROGRESS_MS = 50

/** When this thread last let others run; one call after another, however short, must not keep them from it. */
let paused = 0

/** Keeps a long loop on this thread polite: tells progress every 50 ms, lets others run every 25. */
export class Steps {
  readonly #control: EngineControl
  #told = 0

  constructor(control: EngineControl) {
    this.#control = control
  }

  /** To be called after each step. Throws CANCELLED where the signal asks for it. */
  async step(done: number, total: number): Promise<void> {
    const now = performance.now()
    if (now - this.#told >= PROGRESS_MS) {
      this.#told = now
      this.#control.onProgress?.(done, total)
    }
    if (now - paused >= PAUSE_MS) {
      await new Promise<void>((resolve) => void (globalThis.setImmediate ?? setTimeout)(resolve))
      paused = performance.now()
    }
    const { signal } = this.#control
    if (signal?.aborted === true) throw new VarveError('CANCELLED', 'stopped on request', { cause: signal.reason })
  }
}

function locked<T>(lock: () => T): T {
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

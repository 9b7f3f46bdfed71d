/** Stands between the caller's `signal` and `onProgress` and the engine's long calls. */
import type { EngineControl } from '../engine/engine.ts'
import { VarveError } from '../errors.ts'
import type { WatchOptions } from '../options.ts'
import { FUNCTION, type Fields, SIGNAL } from '../checks/validate.ts'

/** Fields of WatchOptions for `checkOptions`. */
export const WATCH_FIELDS: Fields<WatchOptions> = { signal: SIGNAL, onProgress: FUNCTION }

/**
 * Runs `call` under the caller's watch. An aborted signal rejects with CANCELLED. An `onProgress` that throws never
 * throws into the engine: it stops the call, which then rejects with what was thrown, even if it was complete by then.
 * The call gets a signal of this host: that of the caller may be one of a browser that a test runner simulates.
 */
export async function watched<T>(
  { signal, onProgress }: WatchOptions,
  call: (control: EngineControl) => Promise<T>,
): Promise<T> {
  if (signal?.aborted === true)
    throw new VarveError('CANCELLED', 'stopped on request before it began', { cause: signal.reason })
  if (signal === undefined && onProgress === undefined) return call({ signal, onProgress })

  const stop = new AbortController()
  const end = (): void => stop.abort(signal?.reason)
  let failure: { readonly thrown: unknown } | undefined
  const watch = (done: number, total: number): void => {
    if (failure !== undefined) return
    try {
      onProgress?.(done, total)
    } catch (thrown) {
      failure = { thrown }
      stop.abort(thrown)
    }
  }
  signal?.addEventListener('abort', end, { once: true })
  try {
    const answer = await call({ signal: stop.signal, onProgress: onProgress === undefined ? undefined : watch })
    if (failure === undefined) return answer
  } catch (error) {
    if (failure === undefined) throw error
  } finally {
    signal?.removeEventListener('abort', end)
  }
  throw failure.thrown
}

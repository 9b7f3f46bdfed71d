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
 */
export async function watched<T>(options: WatchOptions, call: (control: EngineControl) => Promise<T>): Promise<T> {
  const { signal, onProgress } = options
  if (signal?.aborted === true) throw new VarveError('CANCELLED', 'stopped on request before it began', { cause: signal.reason })
  if (onProgress === undefined) return call({ signal, onProgress })

  const stop = new AbortController()
  let failure: { readonly thrown: unknown } | undefined
  const watch = (done: number, total: number): void => {
    if (failure !== undefined) return
    try {
      onProgress(done, total)
    } catch (thrown) {
      failure = { thrown }
      stop.abort(thrown)
    }
  }
  const both = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
  try {
    const answer = await call({ signal: both, onProgress: watch })
    if (failure === undefined) return answer
  } catch (error) {
    if (failure === undefined) throw error
  }
  throw failure.thrown
}

/** Work in flight on this thread, so that equal work runs once, also if several handles of a cache ask for it. */
import type { TaskStep } from '../errors.ts'
import { digestOfText } from '../inputs/digest.ts'
import type { Sink } from '../reads/sink.ts'
import { during, waitFor, Work } from './waits.ts'

/** How work ended, for every caller that waits for it. */
export type Outcome =
  | { readonly kind: 'done'; readonly value: unknown; readonly forward?: Forward }
  | { readonly kind: 'failed'; readonly error: unknown; readonly forward?: Forward }
  /** Done, for one run only: files changed meanwhile, or the work asked for it. */
  | { readonly kind: 'own'; readonly value: unknown }

/** Passes what the work depends on to the work around a caller that waited for it. False if that is not known any more. */
export type Forward = (outer: Sink) => boolean

/** How a request ended, and whether the work of another caller answered it. */
export interface Joined {
  readonly isShared: boolean
  readonly outcome: Outcome
}

/** One request for work. */
export interface WorkRequest {
  /** Names everything the work depends on. */
  readonly name: string
  /** Names the work in messages. */
  readonly step: TaskStep
  /** Does the work; never rejects. `isLate`: time has passed since the request. */
  work(isLate: boolean): Promise<Outcome>
}

/** The work in flight on this thread, of all caches. */
const running: Map<string, Promise<Outcome>> = new Map()

/**
 * Waits for the caller that does this work already, or does it. `place` is the directory of the cache. Rejects with
 * TASK_CYCLE if the work would wait for itself.
 */
export function join(place: string, request: WorkRequest): Promise<Joined> {
  const work = new Work(digestOfText(JSON.stringify([place, request.name])), request.step)
  return waitFor(work.name, () => joinNow(request, work))
}

async function joinNow(request: WorkRequest, work: Work): Promise<Joined> {
  const started = running.get(work.name)
  if (started !== undefined) {
    const outcome = await started
    // An outcome for one run only does not answer this request, which has to look at the files as they are now.
    return outcome.kind === 'own'
      ? { isShared: false, outcome: await during(work, () => request.work(true)) }
      : { isShared: true, outcome }
  }
  const outcome = during(work, () => request.work(false))
  running.set(work.name, outcome)
  try {
    return { isShared: false, outcome: await outcome }
  } finally {
    running.delete(work.name)
  }
}

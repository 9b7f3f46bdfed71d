/** Work in flight, so that equal work runs once: on one open cache, and on the worker threads of the process. */
import type { TaskStep } from '../errors.ts'
import { digestOfText } from '../inputs/digest.ts'
import { type Threads, threadsHere } from './threads.ts'
import { during, waitFor, Work } from './waits.ts'

/** How work ended, for every caller that waits for it. */
export type Outcome =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Done, for one run only: files changed meanwhile, or the work asked for it. */
  | { readonly kind: 'own'; readonly value: unknown }

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
  /** Throws if a result cannot become bytes. */
  encode(value: unknown): Uint8Array
  /** Throws if the bytes are not a result. */
  decode(bytes: Uint8Array): unknown
}

/** The work in flight on one open cache. */
export class InFlight {
  /** Distinguishes caches among the threads. */
  readonly #place: string
  readonly #running: Map<string, Promise<Joined>> = new Map()
  /** From the first use on, so that threads know each other before there is work. */
  readonly #threads: Threads | undefined = threadsHere()

  /** `place`: the directory of the cache. */
  constructor(place: string) {
    this.#place = place
  }

  /** Waits for the caller that does this work already, or does it. Rejects with TASK_CYCLE if the work would wait for itself. */
  join(request: WorkRequest): Promise<Joined> {
    const work = new Work(digestOfText(JSON.stringify([this.#place, request.name])), request.step)
    return waitFor(work.name, () => this.#join(request, work))
  }

  async #join(request: WorkRequest, work: Work): Promise<Joined> {
    const running = this.#running.get(work.name)
    if (running !== undefined) {
      const { outcome } = await running
      // An outcome for one run only does not answer this request, which has to look at the files as they are now.
      return outcome.kind === 'own' ? own(request, work, true) : { isShared: true, outcome }
    }
    const joined = this.#joinThreads(request, work)
    this.#running.set(work.name, joined)
    try {
      return await joined
    } finally {
      this.#running.delete(work.name)
    }
  }

  async #joinThreads(request: WorkRequest, work: Work): Promise<Joined> {
    const threads = this.#threads
    if (threads === undefined) return own(request, work, false)
    const claimed = threads.claim(work.name, Buffer.from(work.name.slice(1), 'base64url').readInt32LE())
    const isLate = claimed instanceof Promise
    const found = isLate ? await claimed : claimed
    if (found instanceof Uint8Array) {
      const outcome = outcomeOf(request, found)
      return outcome === undefined ? own(request, work, true) : { isShared: true, outcome }
    }
    let joined: Joined | undefined
    try {
      joined = await own(request, work, isLate)
      return joined
    } finally {
      if (found !== undefined) threads.release(found, () => bytesOf(request, joined?.outcome))
    }
  }
}

/** Does the work here. */
async function own(request: WorkRequest, work: Work, isLate: boolean): Promise<Joined> {
  return { isShared: false, outcome: await during(work, () => request.work(isLate)) }
}

/** The outcome that another thread sent; undefined if its bytes cannot be decoded. */
function outcomeOf(request: WorkRequest, bytes: Uint8Array): Outcome | undefined {
  try {
    return { kind: 'done', value: request.decode(bytes) }
  } catch {
    return undefined
  }
}

/** What other threads receive. Errors are not sent: a thread that waits does the work and gets an error of its own. */
function bytesOf(request: WorkRequest, outcome: Outcome | undefined): Uint8Array | undefined {
  if (outcome?.kind !== 'done') return undefined
  try {
    return request.encode(outcome.value)
  } catch {
    return undefined
  }
}

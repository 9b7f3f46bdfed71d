/** Work under way, so that nobody does the same at the same time: on this cache and thread, and on other threads. */
import type { TaskStep } from '../errors.ts'
import { digestOfText } from '../inputs/digest.ts'
import { type Threads, threadsHere } from './threads.ts'
import { during, waitFor, Work } from './waits.ts'

/** How work ended, for all who wait for it. */
export type Landing =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Done, for one run only: files changed meanwhile, or the work said so. */
  | { readonly kind: 'own'; readonly value: unknown }

/** What came of joining: whether somebody else did it. */
export interface Joined {
  readonly isShared: boolean
  readonly landing: Landing
}

/** One piece of work. */
export interface Flight {
  /** Says everything the work depends on. */
  readonly name: string
  /** For people. */
  readonly step: TaskStep
  /** Does the work; never rejects. `isLate`: time has passed since it was asked for. */
  fly(isLate: boolean): Promise<Landing>
  /** Throws where a result has no bytes. */
  encode(value: unknown): Uint8Array
  /** Throws where the bytes are of no result. */
  decode(bytes: Uint8Array): unknown
}

/** The work under way on one open cache. */
export class Flights {
  /** Tells caches apart among the threads. */
  readonly #place: string
  readonly #underWay: Map<string, Promise<Joined>> = new Map()
  /** From the first task on, so that threads know each other before there is work. */
  readonly #threads: Threads | undefined = threadsHere()

  /** `place`: the folder of the cache. */
  constructor(place: string) {
    this.#place = place
  }

  /** Waits for who does this work already, or does it. Rejects with TASK_CYCLE where that waits for the work that asks. */
  join(flight: Flight): Promise<Joined> {
    const work = new Work(digestOfText(JSON.stringify([this.#place, flight.name])), flight.step)
    return waitFor(work.name, () => this.#join(flight, work))
  }

  async #join(flight: Flight, work: Work): Promise<Joined> {
    const underWay = this.#underWay.get(work.name)
    if (underWay !== undefined) {
      const { landing } = await underWay
      // What came out may be another run's own; who waited for it looks at the files as they are now.
      return landing.kind === 'own' ? own(flight, work, true) : { isShared: true, landing }
    }
    const joined = this.#joinThreads(flight, work)
    this.#underWay.set(work.name, joined)
    try {
      return await joined
    } finally {
      this.#underWay.delete(work.name)
    }
  }

  async #joinThreads(flight: Flight, work: Work): Promise<Joined> {
    const threads = this.#threads
    if (threads === undefined) return own(flight, work, false)
    const claimed = threads.claim(work.name, Buffer.from(work.name.slice(1), 'base64url').readInt32LE())
    const isLate = claimed instanceof Promise
    const found = isLate ? await claimed : claimed
    if (found instanceof Uint8Array) {
      const landing = landingOf(flight, found)
      return landing === undefined ? own(flight, work, true) : { isShared: true, landing }
    }
    let joined: Joined | undefined
    try {
      joined = await own(flight, work, isLate)
      return joined
    } finally {
      if (found !== undefined) threads.release(found, () => bytesOf(flight, joined?.landing))
    }
  }
}

/** Does the work here. */
async function own(flight: Flight, work: Work, isLate: boolean): Promise<Joined> {
  return { isShared: false, landing: await during(work, () => flight.fly(isLate)) }
}

/** What another thread's bytes are; undefined where they are nothing. */
function landingOf(flight: Flight, bytes: Uint8Array): Landing | undefined {
  try {
    return { kind: 'done', value: flight.decode(bytes) }
  } catch {
    return undefined
  }
}

/** What another thread may have of it. Errors are not told: who waits does the work and sees its own. */
function bytesOf(flight: Flight, landing: Landing | undefined): Uint8Array | undefined {
  if (landing?.kind !== 'done') return undefined
  try {
    return flight.encode(landing.value)
  } catch {
    return undefined
  }
}

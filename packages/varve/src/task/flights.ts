/** Work under way, so that nobody does the same at the same time: on this cache and thread, and on other threads. */
import { digestOfText } from './digest.ts'
import { type Threads, threadsHere } from './threads.ts'

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

  /** Waits for who does this work already, or does it. */
  async join(flight: Flight): Promise<Joined> {
    const underWay = this.#underWay.get(flight.name)
    if (underWay !== undefined) {
      const { landing } = await underWay
      // What came out may be another run's own; who waited for it looks at the files as they are now.
      return landing.kind === 'own' ? { isShared: false, landing: await flight.fly(true) } : { isShared: true, landing }
    }
    const joined = this.#joinThreads(flight)
    this.#underWay.set(flight.name, joined)
    try {
      return await joined
    } finally {
      this.#underWay.delete(flight.name)
    }
  }

  async #joinThreads(flight: Flight): Promise<Joined> {
    const threads = this.#threads
    if (threads === undefined) return { isShared: false, landing: await flight.fly(false) }
    const name = digestOfText(JSON.stringify([this.#place, flight.name]))
    const claimed = threads.claim(name, Buffer.from(name.slice(1), 'base64url').readInt32LE())
    const isLate = claimed instanceof Promise
    const found = isLate ? await claimed : claimed
    if (found instanceof Uint8Array) {
      const landing = landingOf(flight, found)
      return landing === undefined ? { isShared: false, landing: await flight.fly(true) } : { isShared: true, landing }
    }
    let landing: Landing | undefined
    try {
      landing = await flight.fly(isLate)
      return { isShared: false, landing }
    } finally {
      if (found !== undefined) threads.release(found, () => bytesOf(flight, landing))
    }
  }
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

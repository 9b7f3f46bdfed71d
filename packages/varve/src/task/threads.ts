/**
 * Work under way on the threads of this process, native and WebAssembly alike. Claims lie in shared memory (`claims.ts`),
 * so that no event loop has to turn before a thread knows; results go through a BroadcastChannel, as shared memory.
 *
 * The table reaches workers by the environment data of the thread that starts them, if that one uses tasks first; else
 * threads exchange their tables and settle on one within milliseconds; until then work may run twice.
 */
import type * as workers from 'node:worker_threads'
import { builtin } from '../host/builtin.ts'
import type { TaskStep } from '../errors.ts'
import { Claims } from './claims.ts'

/** Name of the channel and of the environment data; another one when either changes its form. */
const NAME = 'varve.in-flight.1'

/** Milliseconds between signs of life of a thread that has claims. */
const BEAT_MS = 250
/** Milliseconds between two checks of a waiting thread, at first and at most. */
const POLL_MS_MIN = 2
const POLL_MS_MAX = 50
/** Milliseconds that a result may take to arrive once its claim is gone. */
const DELIVERY_MS = 200
/** A thread that has waited this long does the work itself, in case threads wait for one another. */
const WAIT_MS_MAX = 60_000

/** Messages between threads: the shared table, the outcome of work, and probes for cycles. */
type Message = { readonly kind: 'table'; readonly memory: SharedArrayBuffer } | Landed | Probe

/** Asks whether the work of that name waits for the work that began this wait; see `waits.ts`. */
export interface Probe {
  readonly kind: 'probe'
  /** The wait that asks: its thread, and its number there. */
  readonly thread: number
  readonly number: number
  readonly name: string
  /** The works that wait for the one that is asked, the one that began the wait first. */
  readonly chain: readonly (TaskStep & { readonly name: string })[]
}

interface Landed {
  readonly kind: 'landed'
  readonly name: string
  /** When, by `nowMs`. */
  readonly timeMs: number
  /** Undefined if there is nothing to share. */
  readonly bytes: SharedArrayBuffer | undefined
}

/** One claim of this thread, in the table that was the shared one when it was made. */
export interface Held {
  readonly claims: Claims
  readonly name: string
  readonly digest: number
}

/** The part of this thread in it. */
export class Threads {
  readonly #channel: workers.BroadcastChannel
  readonly #workers: typeof workers
  readonly #held: Set<Held> = new Set()
  readonly #waiting: Map<string, (landed: Landed) => void> = new Map()
  #claims: Claims
  #hearProbe: (probe: Probe) => void = () => undefined
  #heart: ReturnType<typeof setInterval> | undefined

  constructor(threads: typeof workers) {
    this.#workers = threads
    const inherited = threads.getEnvironmentData(NAME)
    this.#claims = isShared(inherited) ? new Claims(inherited) : new Claims()
    this.#channel = new threads.BroadcastChannel(NAME)
    this.#channel.unref()
    this.#channel.addEventListener('message', (event) => this.#hear((event as Event & { data: Message }).data))
    if (inherited !== undefined) return
    threads.setEnvironmentData(NAME, this.#claims.memory)
    this.#tellTable()
  }

  /** Identifies this thread in the process. */
  get id(): number {
    return this.#workers.threadId
  }

  /** Who hears the probes of other threads. */
  onProbe(hear: (probe: Probe) => void): void {
    this.#hearProbe = hear
  }

  /**
   * Claims the work of that name. If another thread does it, a promise of the bytes of its result, or of the claim if that
   * thread is silent. Undefined: do the work without a claim.
   */
  claim(name: string, digest: number): Held | undefined | Promise<Held | Uint8Array | undefined> {
    const claims = this.#claims
    const found = claims.claim(digest)
    if (found === 'mine') return this.#hold({ claims, name, digest })
    return found === 'full' || this.#waiting.has(name) ? undefined : this.#wait(claims, name, digest)
  }

  /** Ends a claim; `encode` makes the bytes of the result for waiting threads, or undefined if it is not for them. */
  release(held: Held, encode: () => Uint8Array | undefined): void {
    this.#held.delete(held)
    if (!held.claims.release(held.digest)) return
    const encoded = encode()
    const bytes = encoded === undefined ? undefined : new SharedArrayBuffer(encoded.length)
    if (encoded !== undefined && bytes !== undefined) new Uint8Array(bytes).set(encoded)
    const message: Landed = { kind: 'landed', name: held.name, timeMs: nowMs(), bytes }
    this.#hear(message) // another cache of this thread; a channel does not hear itself
    this.tell(message)
  }

  /** Sends a message to all other threads. */
  tell(message: Message): void {
    this.#channel.postMessage(message)
  }

  #hold(held: Held): Held {
    this.#held.add(held)
    this.#heart ??= setInterval(() => this.#beat(), BEAT_MS).unref()
    return held
  }

  #beat(): void {
    for (const { claims, digest } of this.#held) claims.beat(digest)
    if (this.#held.size > 0) return
    clearInterval(this.#heart)
    this.#heart = undefined
  }

  async #wait(claims: Claims, name: string, digest: number): Promise<Held | Uint8Array | undefined> {
    const startMs = nowMs()
    const waiter: { landed?: Landed } = {}
    this.#waiting.set(name, (landed) => {
      // A result from before this wait began may no longer hold.
      if (landed.timeMs >= startMs) waiter.landed = landed
    })
    try {
      let [pollMs, goneMs] = [POLL_MS_MIN, 0]
      for (let waitedMs = 0; waiter.landed === undefined && goneMs < DELIVERY_MS && waitedMs < WAIT_MS_MAX; waitedMs += pollMs) {
        if (!claims.await(digest)) goneMs += pollMs
        else if (claims.takeOver(digest)) return this.#hold({ claims, name, digest })
        await new Promise((resolve) => setTimeout(resolve, pollMs))
        pollMs = Math.min(pollMs * 1.5, POLL_MS_MAX)
      }
      return waiter.landed?.bytes === undefined ? undefined : new Uint8Array(waiter.landed.bytes)
    } finally {
      this.#waiting.delete(name)
    }
  }

  #hear(message: Message): void {
    if (message.kind === 'landed') return this.#waiting.get(message.name)?.(message)
    if (message.kind === 'probe') return this.#hearProbe(message)
    const theirs = new Claims(message.memory)
    if (theirs.rank > this.#claims.rank) return this.#tellTable()
    if (theirs.rank === this.#claims.rank) return
    this.#claims = theirs
    this.#workers.setEnvironmentData(NAME, theirs.memory)
  }

  #tellTable(): void {
    this.tell({ kind: 'table', memory: this.#claims.memory })
  }
}

/** A clock that all threads of the process share, milliseconds. */
function nowMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000
}

/** Whether it is shared memory, also of another realm. */
function isShared(value: unknown): value is SharedArrayBuffer {
  return Object.prototype.toString.call(value) === '[object SharedArrayBuffer]'
}

let ofThisThread: Threads | undefined

/** The one of this thread; undefined where the host has no threads. */
export function threadsHere(): Threads | undefined {
  const threads = builtin('node:worker_threads')
  if (threads !== undefined) ofThisThread ??= new Threads(threads)
  return ofThisThread
}

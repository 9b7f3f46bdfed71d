/**
 * A table in shared memory with the work in flight on all threads of the process. Claims are atomic. A claim whose thread
 * has ended, or has not reached its event loop for two seconds, may be taken over: work then runs twice, which is correct.
 *
 *   word 0          random; of two tables, threads settle on the one with the lower
 *   word 2i, 2i+1   slot i: state, beat
 *     state         0 = free, else 31 bits of the name's digest, the lowest one set once a thread waits
 *     beat          time of the last sign of life of its thread, in tenths of a second
 */

const SLOTS = 1024

/** Bit of a state: a thread waits. */
const AWAITED = 1

/** Tenths of a second without a sign of life after which a claim may be taken over. */
const SILENCE_MAX = 20

/** Wraps every three years, at the cost of one claim too many. */
const TIME_MODULO = 2 ** 30

/** The result of a claim. */
export type Claim = 'mine' | 'theirs' | 'full'

/** The table, and the claims in it. */
export class Claims {
  readonly memory: SharedArrayBuffer
  readonly #words: Int32Array

  constructor(memory: SharedArrayBuffer = newMemory()) {
    this.memory = memory
    this.#words = new Int32Array(memory)
  }

  /** Lower is stronger. */
  get rank(): number {
    return this.#words[0] ?? 0
  }

  /** Claims the work of this digest. 'full': other work has its slot, and this work runs without a claim. */
  claim(digest: number): Claim {
    const { state, beat } = place(digest)
    const found = Atomics.compareExchange(this.#words, state, 0, stateOf(digest))
    if (found === 0) Atomics.store(this.#words, beat, now())
    return found === 0 ? 'mine' : isOf(found, digest) ? 'theirs' : 'full'
  }

  /** Records that a thread waits for this work; false if it is no longer in flight. */
  await(digest: number): boolean {
    const { state } = place(digest)
    Atomics.compareExchange(this.#words, state, stateOf(digest), stateOf(digest) | AWAITED)
    return isOf(Atomics.load(this.#words, state), digest)
  }

  /** Takes over the work of a silent thread; true for one thread only. */
  takeOver(digest: number): boolean {
    const { beat } = place(digest)
    const [last, time] = [Atomics.load(this.#words, beat), now()]
    const silence = (time - last + TIME_MODULO) % TIME_MODULO
    return silence > SILENCE_MAX && Atomics.compareExchange(this.#words, beat, last, time) === last
  }

  /** Records that the thread with this claim is alive. */
  beat(digest: number): void {
    Atomics.store(this.#words, place(digest).beat, now())
  }

  /** Ends a claim. True if a thread waits. */
  release(digest: number): boolean {
    const { state } = place(digest)
    for (let found = Atomics.load(this.#words, state); isOf(found, digest); found = Atomics.load(this.#words, state)) {
      if (Atomics.compareExchange(this.#words, state, found, 0) === found) return (found & AWAITED) !== 0
    }
    return false
  }
}

function newMemory(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((1 + SLOTS) * 2 * Int32Array.BYTES_PER_ELEMENT)
  new Int32Array(memory)[0] = Math.floor(Math.random() * 2 ** 31)
  return memory
}

function place(digest: number): { readonly state: number; readonly beat: number } {
  const slot = 1 + ((digest >>> 1) % SLOTS)
  return { state: 2 * slot, beat: 2 * slot + 1 }
}

/** The state of a slot while this work is in flight and no thread waits; never 0. */
function stateOf(digest: number): number {
  return digest & ~AWAITED || 2
}

function isOf(state: number, digest: number): boolean {
  return (state & ~AWAITED) === stateOf(digest)
}

function now(): number {
  return Math.floor(Date.now() / 100) % TIME_MODULO
}

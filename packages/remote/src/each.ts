/** Work on many objects, a few at a time. */

/** Requests at one time: enough to fill a connection of 100 MB/s at 60 ms. */
export const AT_ONCE = 8

/** Runs work, at most `AT_ONCE` at a time, in the order in which it is given. After a failure no further work begins. */
export class Gate {
  #free = AT_ONCE
  #failure: { readonly error: unknown } | undefined
  readonly #waiting: (() => void)[] = []

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      if (this.#failure !== undefined) throw this.#failure.error
      return await work()
    } catch (error) {
      this.#failure ??= { error }
      throw error
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}

/** Waits until all have ended, so that none of them writes to a directory that the caller removes; rejects if one has failed. */
export async function allEnded(all: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(all)) if (outcome.status === 'rejected') throw outcome.reason
}

/** Runs `work` for all items, as a gate does, and waits until all have ended. */
export function forEachAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const gate = new Gate()
  return allEnded([...items].map((item) => gate.run(() => work(item))))
}

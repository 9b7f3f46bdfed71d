/** The reason why a result is not cached. The host never sees this error: it gets the live result. */

/** Thrown inside a task whose result cannot be stored or replayed. */
export class Uncacheable extends Error {
  /** @param reason a few words, the same for all calls of its kind, because statistics count by it */
  constructor(reason: string) {
    super(reason)
    this.name = 'Uncacheable'
  }
}

/** Why a result is not kept, thrown where that is found out. Never seen by the host: the live result goes on. */

/** Thrown inside a task whose result cannot be kept or replayed. */
export class Uncacheable extends Error {
  /** @param reason in few words, the same for all calls of its kind: stats count by it */
  constructor(reason: string) {
    super(reason)
    this.name = 'Uncacheable'
  }
}

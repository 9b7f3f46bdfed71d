/** Work under way on one cache, so that nobody does the same work at the same time. */

/** How work ended, for all who wait for it. */
export type Landing =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Done, for one run only: files changed meanwhile, or the work said so. */
  | { readonly kind: 'own'; readonly value: unknown }

/** The work under way on one open cache. */
export class Flights {
  readonly #underWay: Map<string, Promise<Landing>> = new Map()

  /** Waits for the work of that name, or begins it. `fly` never rejects. */
  async join(name: string, fly: () => Promise<Landing>): Promise<{ readonly isJoined: boolean; readonly landing: Landing }> {
    const underWay = this.#underWay.get(name)
    if (underWay !== undefined) return { isJoined: true, landing: await underWay }
    const flight = fly()
    this.#underWay.set(name, flight)
    try {
      return { isJoined: false, landing: await flight }
    } finally {
      this.#underWay.delete(name)
    }
  }
}

/**
 * Damage that a store met on this thread, and that its compactions met on others: one list to which places are only
 * added, each once, so that whoever has read it knows by its length what is new.
 */
import type { Damage } from './engine.ts'

export class MetDamage {
  /** How many places other threads have met first. */
  elsewhere = 0
  readonly #places: Damage[] = []

  /** Adds what this thread has met; returns all. */
  add(met: readonly Damage[]): readonly Damage[] {
    for (const place of met) if (!this.#places.some((known) => isSame(known, place))) this.#places.push(place)
    return [...this.#places]
  }

  /** Adds what another thread has met. */
  addElsewhere(met: readonly Damage[]): void {
    const before = this.#places.length
    this.elsewhere += this.add(met).length - before
  }
}

function isSame(one: Damage, other: Damage): boolean {
  return one.file === other.file && one.offset === other.offset && one.what === other.what
}

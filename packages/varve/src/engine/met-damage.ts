/**
 * Damage that a store detected on this thread, and that its compactions detected on others. Places are only appended, each
 * once, so that the length of the list shows what is new.
 */
import type { Damage } from './engine.ts'

export class MetDamage {
  /** Number of places that other threads detected first. */
  elsewhere = 0
  readonly #places: Damage[] = []

  /** Adds damage of this thread; returns all. */
  add(met: readonly Damage[]): readonly Damage[] {
    for (const place of met) if (!this.#places.some((known) => isSame(known, place))) this.#places.push(place)
    return [...this.#places]
  }

  /** Adds damage of another thread. */
  addElsewhere(met: readonly Damage[]): void {
    const before = this.#places.length
    this.elsewhere += this.add(met).length - before
  }
}

function isSame(one: Damage, other: Damage): boolean {
  return one.file === other.file && one.offset === other.offset && one.what === other.what
}

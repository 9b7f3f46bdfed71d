/**
 * Tells of damage, each place once, soon after the call that met it and never inside of it: whoever is told may use the
 * cache. To look is one number of the engine; its status is only asked where there is something new.
 */
import type { EngineStore } from '../engine/engine.ts'
import { VarveError } from '../errors.ts'
import type { Damage } from '../reports.ts'

/** Damage of one open cache. */
export class DamageWatch {
  readonly #store: EngineStore
  readonly #tell: (places: readonly Damage[]) => void
  readonly #isStrict: boolean
  #known = 0
  #told = 0

  constructor(store: EngineStore, isStrict: boolean, tell: (places: readonly Damage[]) => void) {
    this.#store = store
    this.#isStrict = isStrict
    this.#tell = tell
  }

  /** Looks whether something new was met, and has it told. With `strict` it throws DAMAGED where anything ever was. */
  look(): void {
    const count = this.#store.damageCount()
    if (count === this.#known && !this.#isStrict) return
    if (count !== this.#known) {
      this.#known = count
      queueMicrotask(() => this.#tellNow())
    }
    const [place] = this.#isStrict && count > 0 ? this.#store.status().damage : []
    if (place !== undefined) throw damageError([place])
  }

  /** Tells what was not told yet of all damage there is. */
  tellRest(all: readonly Damage[]): void {
    const places = all.slice(this.#told)
    this.#told = all.length
    this.#known = Math.max(this.#known, all.length)
    if (places.length > 0) this.#tell(places)
  }

  #tellNow(): void {
    if (this.#told === this.#known) return
    try {
      this.tellRest(this.#store.status().damage)
    } catch {
      // Closed meanwhile: whoever closes tells the rest.
    }
  }
}

/** What a warning says of damaged places, or an error where damage is to be one. */
export function damageError(places: readonly Damage[]): VarveError {
  const [first] = places
  const where = first === undefined ? 'a file' : `${first.what} in '${first.file}' at byte ${first.offset}`
  const whose = first === undefined || first.namespace === null ? '' : `, of namespace '${first.namespace}'`
  const more = places.length > 1 ? ` and ${places.length - 1} more` : ''
  const fix = "what was there is a miss and will be written anew; 'npx varve verify' names all of it, 'npx varve repair' sets it aside"
  return new VarveError('DAMAGED', `the cache is damaged: ${where}${whose}${more}; ${fix}`)
}

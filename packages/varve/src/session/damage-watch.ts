/**
 * Reports damage, each place once, soon after the call that found it and never inside it, because the listener may use the
 * cache. A check reads one number of the engine, and its status only if that number has grown.
 */
import type { EngineStore } from '../engine/engine.ts'
import { VarveError } from '../errors.ts'
import type { Damage } from '../reports.ts'

/** Damage of one open cache. */
export class DamageWatch {
  readonly #store: EngineStore
  readonly #report: (places: readonly Damage[]) => void
  readonly #isStrict: boolean
  #known = 0
  #reported = 0

  constructor(store: EngineStore, isStrict: boolean, report: (places: readonly Damage[]) => void) {
    this.#store = store
    this.#isStrict = isStrict
    this.#report = report
  }

  /** Reports damage if `count` has grown. With `strict` it throws DAMAGED if the store ever found any. */
  look(count: number = this.#store.damageCount()): void {
    if (count === this.#known && !this.#isStrict) return
    if (count !== this.#known) {
      this.#known = count
      queueMicrotask(() => this.#reportNow())
    }
    const [place] = this.#isStrict && count > 0 ? this.#store.status().damage : []
    if (place !== undefined) throw damageError([place])
  }

  /** Reports those of `all` places that were not reported yet. */
  reportRest(all: readonly Damage[]): void {
    const places = all.slice(this.#reported)
    this.#reported = all.length
    this.#known = Math.max(this.#known, all.length)
    if (places.length > 0) this.#report(places)
  }

  #reportNow(): void {
    if (this.#reported === this.#known) return
    try {
      this.reportRest(this.#store.status().damage)
    } catch {
      // The cache was closed: `close` reports the rest.
    }
  }
}

/** The warning about damaged places, or the error if damage is an error. */
export function damageError(places: readonly Damage[]): VarveError {
  const [first] = places
  const where = first === undefined ? 'a file' : `${first.what} in '${first.file}' at byte ${first.offset}`
  const whose = first === undefined || first.namespace === null ? '' : `, of namespace '${first.namespace}'`
  const more = places.length > 1 ? ` and ${places.length - 1} more` : ''
  const mend = "what was there is a miss and will be written anew; 'npx varve verify' names all of it, 'npx varve repair' sets it aside"
  return new VarveError('DAMAGED', `the cache is damaged: ${where}${whose}${more}; ${mend}`)
}

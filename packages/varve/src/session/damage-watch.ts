/**
 * Reports damage, each place once, soon after the call that detected it and never during it, so that listeners may use the
 * cache. Checking reads one number of the engine; its status is read only if that number changed.
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

  /** Checks for new damage and reports it. With `strict` it throws DAMAGED if there ever was any. */
  look(count: number = this.#store.damageCount()): void {
    if (count === this.#known && !this.#isStrict) return
    if (count !== this.#known) {
      this.#known = count
      queueMicrotask(() => this.#reportNow())
    }
    const [place] = this.#isStrict && count > 0 ? this.#store.status().damage : []
    if (place !== undefined) throw damageError([place])
  }

  /** Reports the damage of `all` that was not reported yet. */
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
      // Closed meanwhile: `close` reports the rest.
    }
  }
}

/** The warning for damaged places; with `strict`, the error. `fetched` are the paths of layers that can be fetched again. */
export function damageError(places: readonly Damage[], fetched: readonly string[] = []): VarveError {
  const [first] = places
  const where = first === undefined ? 'a file' : `${first.what} in '${first.file}' at byte ${first.offset}`
  const whose = first === undefined || first.namespace === null ? '' : `, of namespace '${first.namespace}'`
  const more = places.length > 1 ? ` and ${places.length - 1} more` : ''
  if (first?.layer !== undefined) {
    const isFetched = fetched.includes(first.layer)
    const fix = isFetched
      ? 'the next build fetches it again'
      : "seal it again, or remove it from option 'layers' and VARVE_LAYERS"
    const advice = `what it had there is a miss; ${fix}`
    const what = first.file === first.layer ? first.what : `${where}${whose}`
    return new VarveError('DAMAGED', `the layer '${first.layer}' is not used in full: ${what}${more}; ${advice}`)
  }
  const fix =
    "the entries there are misses and will be written again. 'npx varve repair --check' lists all damage, 'npx varve repair' quarantines it"
  return new VarveError('DAMAGED', `the cache is damaged: ${where}${whose}${more}: ${fix}`)
}

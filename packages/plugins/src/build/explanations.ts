/**
 * Words for inputs that are one digest each. The namespace `inputs` of a cache has the parts of each such input as the last build
 * found them that stored results, by which the next one names what has changed. They are put only with results.
 *
 *   packages                  { "@babel/core": "=\"7.29.13\"", ... }
 *   config vite client        { "define.__TIME__": "=1795257074727", ... }
 */
import type { Cache, Namespace } from 'varve'
import { type Parts, partsInWords, readParts } from './parts.ts'

const NAME = 'inputs'
const VERSION = '1'

/** Inputs that one cache explains. */
const INPUTS_MAX = 200

/** The explanations of one cache. */
export class Explanations {
  readonly #namespace: Namespace<unknown>
  /** The parts of the last build by key, once they were read. */
  readonly #before: Map<string, Parts | undefined> = new Map()
  readonly #words: Map<string, string> = new Map()
  /** Parts of the inputs of stored results that are not put yet. */
  readonly #noted: Map<string, () => Parts> = new Map()

  constructor(cache: Cache) {
    this.#namespace = cache.namespace(NAME, { version: VERSION, codec: 'json' })
  }

  /** What has changed in the input with this key; undefined if it is not known. */
  words(key: string, parts: () => Parts): string | undefined {
    const known = this.#words.get(key)
    if (known !== undefined) return known
    const before = this.#partsBefore(key)
    const words = before === undefined ? undefined : partsInWords(before, parts())
    if (words !== undefined) this.#words.set(key, words)
    return words
  }

  /** Called with the inputs of a result that is stored. */
  note(key: string, parts: () => Parts): void {
    if (this.#noted.size < INPUTS_MAX) this.#noted.set(key, parts)
  }

  /** Buffers the parts of the noted inputs. Called before a commit. A failure costs words. */
  put(): void {
    for (const [key, parts] of this.#noted) {
      try {
        const [before, now] = [this.#partsBefore(key), parts()]
        if (before === undefined || partsInWords(before, now) !== undefined) this.#namespace.put(key, now)
        this.#before.set(key, now)
      } catch {
        // The commit reports a cache that cannot be written.
      }
    }
    this.#noted.clear()
  }

  /** Called when a build begins: what has changed since the build before it may differ. */
  begin(): void {
    this.#words.clear()
  }

  #partsBefore(key: string): Parts | undefined {
    if (!this.#before.has(key)) {
      try {
        this.#before.set(key, readParts(this.#namespace.get(key)))
      } catch {
        this.#before.set(key, undefined)
      }
    }
    return this.#before.get(key)
  }
}

/**
 * The directory of an open cache. Who can change it is asked when the cache is opened, and again before the engine
 * reads or writes in a directory that was not there yet: another user may have made it meanwhile.
 *
 *   1. It is not there and the engine is about to write: it is made here, open to its user only, and then looked at.
 *   2. It is there and trusted: nobody else can replace it, so it is not looked at again.
 *   3. It is trusted, but lies in a directory where every user may make things, such as /tmp: one `lstat` (2 us) before
 *      each use tells whether it is still the same. Only where it was removed it is looked at again.
 */
import { builtin } from '../host/builtin.ts'
import { type Degraded, type Examined, examine } from './degraded.ts'
import type { CacheOptions } from '../options.ts'

/** The directory of one open cache. */
export class Place {
  readonly #dir: string
  readonly #name: string
  readonly #options: Pick<CacheOptions, 'shared' | 'readOnly'>
  #found: Examined
  #identity: string | undefined

  /** `name`: of the format's folder in `dir`. */
  constructor(dir: string, name: string, options: Pick<CacheOptions, 'shared' | 'readOnly'>) {
    this.#dir = dir
    this.#name = name
    this.#options = options
    this.#found = this.examine()
  }

  /** Whether there was something to read when it was last looked at. */
  get isThere(): boolean {
    return this.#found.isThere
  }

  /** What keeps it from being used, as when it was last looked at. */
  get degraded(): Degraded | undefined {
    return this.#found.degraded
  }

  /** Looks at it. */
  examine(): Examined {
    this.#found = examine(this.#dir, this.#name, this.#options)
    this.#identity = this.#identify()
    return this.#found
  }

  /** Whether it is there, trusted, and the same directory as when it was last examined. */
  get isUnchanged(): boolean {
    const { isThere, isExposed } = this.#found
    return isThere && this.#isTrusted && (!isExposed || this.#identity === this.#identify())
  }

  /** To be called before the engine reads, or writes: why it must not; undefined if it may. */
  check(writes: boolean): Degraded | undefined {
    if (this.isUnchanged) return undefined
    if (writes && this.#options.readOnly === true) return undefined // the engine refuses
    this.examine()
    if (writes && !this.isThere && this.#isTrusted) {
      this.#make()
      this.examine()
    }
    return this.#isTrusted ? undefined : this.degraded
  }

  /** A folder that cannot be written is the engine's to tell. */
  get #isTrusted(): boolean {
    return this.#found.degraded?.mode !== 'memory'
  }

  #make(): void {
    try {
      builtin('node:fs')?.mkdirSync(`${this.#dir}/${this.#name}`, { recursive: true, mode: 0o700 })
    } catch {
      // The engine meets the same and tells.
    }
  }

  #identify(): string | undefined {
    if (!this.#found.isExposed) return undefined
    try {
      const stats = builtin('node:fs')?.lstatSync(`${this.#dir}/${this.#name}`, { throwIfNoEntry: false })
      return stats === undefined ? undefined : `${stats.dev}-${stats.ino}`
    } catch {
      return undefined
    }
  }
}

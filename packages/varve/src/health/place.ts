/**
 * The directory of an open cache. Varve checks who can change it when it opens the cache, and again before the engine reads
 * or writes a directory that did not exist then: another user may have created it meanwhile.
 *
 *   1. It does not exist and the engine is about to write: Varve creates it for its user only, and then checks it.
 *   2. It exists and is trusted: no other user can replace it, so it is not checked again.
 *   3. It is trusted, but is in a directory where every user may create files, such as /tmp: one `lstat` (2 us) before
 *      each use detects a replacement. Only then is it checked again.
 */
import { builtin } from '../host/builtin.ts'
import { makeDirectory } from '../host/make-directory.ts'
import { type Degraded, type DirectoryState, examine } from './degraded.ts'
import type { CacheOptions } from '../options.ts'

/** The directory of one open cache. */
export class Place {
  readonly dir: string
  readonly #name: string
  readonly #options: Pick<CacheOptions, 'shared' | 'readOnly'>
  #found: DirectoryState
  #identity: string | undefined

  /** `name`: of the format's folder in `dir`. */
  constructor(dir: string, name: string, options: Pick<CacheOptions, 'shared' | 'readOnly'>) {
    this.dir = dir
    this.#name = name
    this.#options = options
    this.#found = this.examine()
  }

  /** Whether it existed at the last check. */
  get isThere(): boolean {
    return this.#found.isThere
  }

  /** What limits its use, at the last check. */
  get degraded(): Degraded | undefined {
    return this.#found.degraded
  }

  examine(): DirectoryState {
    this.#found = examine(this.dir, this.#name, this.#options)
    this.#identity = this.#identify()
    return this.#found
  }

  /** Whether it is there, trusted, and the same directory as when it was last examined. */
  get isUnchanged(): boolean {
    const { isThere, isExposed } = this.#found
    return isThere && this.#isTrusted && (!isExposed || this.#identity === this.#identify())
  }

  /** Call before the engine reads or writes: why it must not; undefined if it may. */
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

  /** The engine reports a directory that cannot be written. */
  get #isTrusted(): boolean {
    return this.#found.degraded?.mode !== 'memory'
  }

  #make(): void {
    try {
      const files = builtin('node:fs')
      if (files !== undefined) makeDirectory(files, `${this.dir}/${this.#name}`, 0o700)
    } catch {
      // The engine gets the same error and reports it.
    }
  }

  #identify(): string | undefined {
    if (!this.#found.isExposed) return undefined
    try {
      const stats = builtin('node:fs')?.lstatSync(`${this.dir}/${this.#name}`, { throwIfNoEntry: false })
      return stats === undefined ? undefined : `${stats.dev}-${stats.ino}`
    } catch {
      return undefined
    }
  }
}

/**
 * The life of a read:
 *
 *   noted     it was looked at before the work read it
 *   counted   the call that read it has ended, or the program read it while it started: an input of all results
 *   sealed    it was digested, and is still what was noted: part of the set of every result since the last seal
 *   spoiled   it changed while it was noted or counted: no result since the last seal is stored
 *
 *   note      nothing, sealed -> noted; counted, spoiled -> counted, as it is now
 *   count     noted -> counted
 *   adopt     nothing, sealed -> counted or spoiled: what the program has in memory is read only once
 *   seal      counted -> sealed or spoiled, before the cache commits
 */
import { type Disk, isOfFolder } from '../inputs/input.ts'
import type { Noted } from '../inputs/observed.ts'
import type { StoredInput } from '../inputs/set.ts'
import type { Looks } from './counted.ts'
import { isOutput } from './sink.ts'

/** Where one read is in its life. `sealed`: what an earlier generation found, besides the present look. */
type Life =
  | { readonly state: 'noted'; readonly look: Noted; readonly sealed: StoredInput | undefined }
  | { readonly state: 'counted'; readonly look: Noted; readonly sealed: StoredInput | undefined; readonly by: Reader }
  | { readonly state: 'sealed'; readonly look?: undefined; readonly sealed: StoredInput }
  | { readonly state: 'spoiled'; readonly look: Noted; readonly sealed: StoredInput | undefined; readonly by: Reader }

/** Who read it: the work, or the program while it started. */
type Reader = 'work' | 'start-up'

/** The reads of one scope, each with its life. */
export class Lives implements Looks {
  readonly #lives: Map<string, Life> = new Map()
  /** The keys of those that are spoiled, which each lookup asks for. */
  readonly #spoiled: Set<string> = new Set()

  /** The present look, if there is one. */
  get(key: string): Noted | undefined {
    const life = this.#lives.get(key)
    return life?.state === 'spoiled' ? undefined : life?.look
  }

  *[Symbol.iterator](): Generator<[string, Noted]> {
    for (const [key, { look }] of this.#lives) if (look !== undefined) yield [key, look]
  }

  has(key: string): boolean {
    return this.#lives.has(key)
  }

  /** What earlier generations found. */
  get sealed(): Map<string, StoredInput> {
    const all = new Map<string, StoredInput>()
    for (const [key, { sealed }] of this.#lives) if (sealed !== undefined) all.set(key, sealed)
    return all
  }

  keys(): Iterable<string> {
    return this.#lives.keys()
  }

  isSealed(key: string): boolean {
    return this.#lives.get(key)?.sealed !== undefined
  }

  /** What counts in this generation. Each build replaces the output that the program read while it started. */
  counted(disk: Disk): readonly Noted[] {
    const looks: Noted[] = []
    for (const life of this.#lives.values()) {
      if (life.state !== 'counted') continue
      const { look } = life
      const isReplaced =
        life.by === 'start-up' &&
        isOutput(look.path) &&
        ((isOfFolder(look.kind) && look.isFrozen === true) || look.hasChanged(disk))
      if (!isReplaced) looks.push(look)
    }
    return looks
  }

  isCounted(key: string): boolean {
    return this.#lives.get(key)?.state === 'counted'
  }

  /** A path that the work, or the program, has in memory as it was. Output does not count. */
  spoiled(by: Reader): string | undefined {
    for (const key of this.#spoiled) {
      const life = this.#lives.get(key)
      if (life?.state === 'spoiled' && life.by === by && (by === 'work' || !isOutput(life.look.path)))
        return life.look.path
    }
    return undefined
  }

  #set(key: string, life: Life): void {
    this.#lives.set(key, life)
    if (life.state === 'spoiled') this.#spoiled.add(key)
    else this.#spoiled.delete(key)
  }

  note(key: string, look: Noted): void {
    const life = this.#lives.get(key)
    if (life?.state === 'counted') this.#set(key, { ...life, look })
    else if (life?.state !== 'spoiled') this.#set(key, { state: 'noted', look, sealed: life?.sealed })
    else if (life.by === 'work') this.#set(key, { ...life, state: 'counted', look })
  }

  count(key: string): void {
    const life = this.#lives.get(key)
    const isNew = life?.state === 'noted' || (life?.state === 'counted' && life.by === 'start-up')
    if (isNew) this.#set(key, { state: 'counted', look: life.look, sealed: life.sealed, by: 'work' })
  }

  /** The program read it while it started; `hasChanged` since. */
  adopt(key: string, look: Noted, hasChanged: boolean): void {
    const sealed = this.#lives.get(key)?.sealed
    this.#set(key, { state: hasChanged ? 'spoiled' : 'counted', look, sealed, by: 'start-up' })
  }

  /** Other work with the same code found it. */
  takeOver(other: Lives): void {
    for (const [key, life] of other.#lives) {
      const own = this.#lives.get(key)
      if (own?.sealed !== undefined) continue
      if (life.sealed !== undefined) this.seal(key, life.sealed)
      else if (life.state === 'counted' && own?.state !== 'counted') this.#set(key, life)
    }
  }

  /** `found`: what is put, or that it is no longer what was looked at. A call that goes on keeps its look. */
  seal(key: string, found: StoredInput | 'changed'): void {
    const life = this.#lives.get(key)
    if (found === 'changed') {
      if (life?.state === 'counted') this.#set(key, { ...life, state: 'spoiled' })
    } else this.#set(key, life?.state === 'noted' ? { ...life, sealed: found } : { state: 'sealed', sealed: found })
  }

  forget(key: string): void {
    this.#lives.delete(key)
    this.#spoiled.delete(key)
  }
}

/**
 * The variables that the work of a scope reads in one generation, each as the first read found it. If the program changes one
 * and the work reads it again, results of the generation may depend on either value, so none is stored. A variable that the
 * work itself changed is no input from then on: the next run finds it as the first read did, and changes it again.
 */
import { variable } from '../host/permission.ts'
import { countedVariables, isCountedVariable } from '../inputs/variables.ts'
import { type StoredInput, storedNames, storedVariable } from '../inputs/set.ts'
import { unrecordedNow } from './sink.ts'

/** The key of the names of variables begins with this, and ends with how they begin. */
const NAMES = 'names '

/** What was read: the value of a variable, or the names of all. */
interface Seen {
  readonly found: string | undefined | readonly string[]
  readonly read: StoredInput
}

/** The variables of one generation. */
export class ReadVariables {
  readonly #seen: Map<string, Seen> = new Map()
  /** Names of variables that the work changed. */
  readonly #own: Set<string> = new Set()
  /** A variable was read with two values in this generation. */
  isMixed = false

  /** What was read, by the keys of a set. */
  get reads(): ReadonlyMap<string, StoredInput> {
    return new Map([...this.#seen].map(([key, { read }]) => [key, read]))
  }

  read(name: string, isListed: boolean): void {
    if (isCountedVariable(name, isListed) && !this.#own.has(name))
      unrecordedNow(() => this.#note(`env ${name}`, () => storedVariable(name)))
  }

  readNames(prefix: string): void {
    unrecordedNow(() => this.#note(`${NAMES}${prefix}`, () => storedNames(prefix)))
  }

  changedByWork(name: string): void {
    this.#own.add(name)
  }

  /** Whether all are as they were read. */
  get areCurrent(): boolean {
    return !this.isMixed && [...this.#seen].every(([key, seen]) => this.#isCurrent(key, seen))
  }

  /** Whether the work changed the variable of this key. */
  isOwn(key: string): boolean {
    return this.#own.has(nameIn(key))
  }

  /** Another generation begins, which has what was read so far from this one. */
  clear(): void {
    this.#seen.clear()
  }

  #note(key: string, store: () => StoredInput): void {
    const before = this.#seen.get(key)
    if (before !== undefined && this.#isCurrent(key, before)) return
    this.isMixed ||= before !== undefined
    this.#seen.set(key, { found: foundNow(key), read: store() })
  }

  #isCurrent(key: string, { found }: Seen): boolean {
    const now = foundNow(key)
    if (typeof found !== 'object' || typeof now !== 'object') return found === now || this.isOwn(key)
    const [before, after] = [found, now].map((names) => names.filter((name) => !this.#own.has(name)).join('\0'))
    return before === after
  }
}

function foundNow(key: string): Seen['found'] {
  return key.startsWith(NAMES) ? countedVariables(key.slice(NAMES.length)) : variable(nameIn(key))
}

function nameIn(key: string): string {
  return key.slice('env '.length)
}

/**
 * A namespace that commits by itself: all that is put in one turn of the event loop is one commit, made at the end of
 * that turn; reads see what other processes had committed when the turn began, and a miss looks again.
 *
 *   get, put ... put -> end of the turn: commit -> the promises of `committed` resolve
 *
 * No state of the folder fails a call: what cannot be read is a miss, what cannot be written stays in memory, and a
 * warning tells. Only wrong arguments throw.
 */
import { setImmediate as atEndOfTurn } from 'node:timers' // not the global one, which test runners replace
import { type Cache, type Namespace, VarveError } from 'varve'
import type { Shape } from '../build/shape.ts'
import type { MemoryNamespace } from './memory.ts'
import { type DataKind, decodeValue, encodeValue, type Stamped } from './value.ts'

/** What an open namespace consists of. */
export interface Parts {
  /** Undefined where the folder cannot be used. */
  readonly cache: Cache | undefined
  readonly space: Namespace<Uint8Array> | MemoryNamespace
  /** False where nothing is ever committed. */
  readonly isWritable: boolean
  readonly dataKind: DataKind
  /** What a value has to be; any other is a miss. */
  readonly shape: Shape<unknown>
  readonly warn: (warning: VarveError) => void
}

/** A namespace that is open: reads are synchronous, writes are committed at the end of the turn. */
export class OpenNamespace {
  readonly #parts: Parts
  #committing: Promise<boolean> | undefined
  #isFresh = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The value that any process committed before this turn, or this one has put; undefined for a miss. Throws KEY_TOO_LONG. */
  get(key: string | Uint8Array): Stamped | undefined {
    this.#refresh()
    const encoded = this.#parts.space.get(key) ?? this.#lookAgain(() => this.#parts.space.get(key))
    return this.#decode(encoded)
  }

  /** The values of many keys, in their order. */
  getMany(keys: readonly string[]): (Stamped | undefined)[] {
    this.#refresh(true)
    return this.#parts.space.getMany(keys).map((encoded) => this.#decode(encoded))
  }

  /** Whether there is an entry; its value is not read. */
  has(key: string): boolean {
    this.#refresh()
    return this.#parts.space.has(key) || this.#lookAgain(() => this.#parts.space.has(key))
  }

  /** Puts a value, to be committed at the end of this turn. Throws KEY_TOO_LONG or VALUE_TOO_LONG. */
  put(key: string | Uint8Array, value: unknown, timeMs = 0): void {
    this.#parts.space.put(key, encodeValue(value, timeMs, this.#parts.dataKind))
    void this.committed()
  }

  /** As `put`; what cannot be kept, such as a value over 64 MiB, is a warning. */
  tryPut(key: string | Uint8Array, value: unknown, timeMs = 0): void {
    try {
      this.put(key, value, timeMs)
    } catch (error) {
      this.#parts.warn(toWarning(error))
    }
  }

  /** Removes an entry, to be committed at the end of this turn. */
  delete(key: string): void {
    this.#parts.space.delete(key)
    void this.committed()
  }

  /** The keys that are strings and begin with `prefix`, in no useful order. */
  keys(prefix: string): string[] {
    this.#refresh(true)
    return [...this.#parts.space.keys()].filter((key) => typeof key === 'string').filter((key) => key.startsWith(prefix))
  }

  /** The entries whose keys are strings and begin with `prefix`, in no useful order. */
  *entries(prefix: string): IterableIterator<[key: string, entry: Stamped]> {
    this.#refresh(true)
    for (const [key, encoded] of this.#parts.space.entries()) {
      const entry = typeof key === 'string' && key.startsWith(prefix) ? this.#decode(encoded) : undefined
      if (typeof key === 'string' && entry !== undefined) yield [key, entry]
    }
  }

  /** Removes every entry whose key begins with `prefix`, or is no string and `prefix` is empty. */
  clear(prefix: string): void {
    this.#refresh(true)
    for (const key of this.#parts.space.keys()) {
      if (prefix === '' || (typeof key === 'string' && key.startsWith(prefix))) this.#parts.space.delete(key)
    }
    void this.committed()
  }

  /** Resolves to true when all that was put so far is committed, to false where it could not be and stays in memory. */
  committed(): Promise<boolean> {
    this.#committing ??= this.#commit()
    return this.#committing
  }

  /** Bytes of the folder and whether all of them are sound, for tools that cannot do with part of their cache. */
  async examine(): Promise<{ readonly bytes: number; readonly isSound: boolean }> {
    try {
      const report = await this.#parts.cache?.verify()
      return { bytes: report?.bytes ?? 0, isSound: report?.sound ?? true }
    } catch (error) {
      this.#parts.warn(toWarning(error))
      return { bytes: 0, isSound: false }
    }
  }

  /** Waits for the commit under way and closes the cache. */
  async close(): Promise<void> {
    await this.#committing
    try {
      await this.#parts.cache?.close()
    } catch (error) {
      this.#parts.warn(toWarning(error))
    }
  }

  async #commit(): Promise<boolean> {
    await new Promise<void>((resolve) => atEndOfTurn(resolve))
    this.#committing = undefined
    if (!this.#parts.isWritable) return false
    try {
      const report = await this.#parts.cache?.commit()
      return report?.inMemory !== true
    } catch (error) {
      this.#parts.warn(toWarning(error))
      return false
    }
  }

  #decode(encoded: Uint8Array | undefined): Stamped | undefined {
    return encoded === undefined ? undefined : decodeValue(encoded, this.#parts.shape)
  }

  /** A miss may be an entry that another process committed in this very turn, and told this one about. */
  #lookAgain<Found>(look: () => Found): Found {
    this.#refresh(true)
    return look()
  }

  /** Takes up what other processes committed, once a turn or now: that costs 4 to 130 us, a lookup less than one. */
  #refresh(isNow = false): void {
    if (this.#isFresh && !isNow) return
    this.#isFresh = true
    atEndOfTurn(() => void (this.#isFresh = false))
    try {
      this.#parts.cache?.refresh()
    } catch (error) {
      this.#parts.warn(toWarning(error)) // what is known already can still be read
    }
  }
}

function toWarning(error: unknown): VarveError {
  return error instanceof VarveError ? error : new VarveError('INTERNAL', String(error), { cause: error })
}

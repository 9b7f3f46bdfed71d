/** The entries of a process whose cache directory cannot be used. They are discarded when the process exits. */
import { Buffer } from 'node:buffer'

type Key = string | Uint8Array

/** An in-memory namespace with the methods that an adapter uses. It does not copy values. */
export class MemoryNamespace {
  /** Entries by the bytes of their key, as one character each. */
  readonly #entries: Map<string, [key: Key, value: Uint8Array]> = new Map()

  get(key: Key): Uint8Array | undefined {
    return this.#entries.get(nameOf(key))?.[1]
  }

  getMany(keys: readonly Key[]): (Uint8Array | undefined)[] {
    return keys.map((key) => this.get(key))
  }

  has(key: Key): boolean {
    return this.#entries.has(nameOf(key))
  }

  put(key: Key, value: Uint8Array): void {
    this.#entries.set(nameOf(key), [key, value])
  }

  delete(key: Key): void {
    this.#entries.delete(nameOf(key))
  }

  *entries(): IterableIterator<[key: Key, value: Uint8Array]> {
    yield* this.#entries.values()
  }

  *keys(): IterableIterator<Key> {
    for (const [key] of this.#entries.values()) yield key
  }
}

const nameOf = (key: Key): string => Buffer.from(key).toString('latin1')

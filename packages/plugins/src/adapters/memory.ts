/** The entries of a process whose cache directory cannot be used. They are discarded when the process exits. */
import { Buffer } from 'node:buffer'

type Key = string | Uint8Array

/** An in-memory namespace with the methods that an adapter uses. */
export class MemoryNamespace {
  /** Entries by the bytes of their key, as one character each. */
  readonly #entries: Map<string, [key: Key, value: Uint8Array]> = new Map()

  get(key: Key): Uint8Array | undefined {
    const found = this.#entries.get(nameOf(key))
    return found && new Uint8Array(found[1]) // a copy, because callers may modify what they get
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

  /** The entries that there are when the loop begins. */
  *entries(): IterableIterator<[key: Key, value: Uint8Array]> {
    for (const [key, value] of Array.from(this.#entries.values())) yield [key, new Uint8Array(value)]
  }

  *keys(): IterableIterator<Key> {
    for (const [key] of this.#entries.values()) yield key
  }
}

const nameOf = (key: Key): string => Buffer.from(key).toString('latin1')

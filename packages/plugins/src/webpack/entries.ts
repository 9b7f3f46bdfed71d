/**
 * Entries of a namespace by identifiers. webpack's identifiers contain absolute paths; keys have them relative to the root, so
 * that another checkout finds the same entries. The key of an entry that is bound to one checkout has the root of that checkout.
 *
 *   Compilation/modules|<varve:root>/src/a.js                            for every checkout
 *   bound /home/me/app\0Compilation/modules|<varve:root>/src/a.js        for this checkout
 */
import type { Namespace } from 'varve'
import type { Root } from '../build/root.ts'
import { asBuffer } from './value.ts'

const BOUND = 'bound '

/** The entries of a namespace that one checkout sees. An identifier has one entry. */
export class Entries {
  readonly #namespace: Namespace<Uint8Array>
  readonly #root: Root
  readonly #own: string

  constructor(namespace: Namespace<Uint8Array>, root: Root) {
    this.#namespace = namespace
    this.#root = root
    this.#own = `${BOUND}${root.folder}\0`
  }

  get(identifier: string): Buffer | undefined {
    const key = this.#root.toRelative(identifier)
    const bytes = this.#namespace.get(key) ?? this.#namespace.get(this.#own + key)
    return bytes === undefined ? undefined : asBuffer(bytes)
  }

  /** Puts an entry and returns the one that it replaces. With `isBound`, only this checkout finds it. */
  put(identifier: string, bytes: Uint8Array, isBound: boolean): Buffer | undefined {
    const key = this.#root.toRelative(identifier)
    const [wanted, other] = isBound ? [this.#own + key, key] : [key, this.#own + key]
    const elsewhere = this.#namespace.get(other)
    const replaced = elsewhere ?? this.#namespace.get(wanted)
    if (elsewhere !== undefined) this.#namespace.delete(other)
    this.#namespace.put(wanted, bytes)
    return replaced === undefined ? undefined : asBuffer(replaced)
  }

  delete(identifier: string): void {
    const key = this.#root.toRelative(identifier)
    for (const one of [key, this.#own + key]) this.#namespace.delete(one)
  }

  /** A copy of all entries. Those of other checkouts have no identifier. */
  all(): [identifier: string | undefined, bytes: Buffer][] {
    return Array.from(this.#namespace.entries(), ([key, bytes]) => [this.#identifierOf(String(key)), asBuffer(bytes)])
  }

  #identifierOf(key: string): string | undefined {
    if (key.startsWith(this.#own)) return this.#root.toAbsolute(key.slice(this.#own.length))
    return key.startsWith(BOUND) ? undefined : this.#root.toAbsolute(key)
  }
}

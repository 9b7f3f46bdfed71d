/**
 * webpack's serialiser with one more step, which stores paths inside the project relative to its root, and with another last step (`bytes.ts`):
 *
 *   value -> objects as a flat list -> the same list with relative paths | u8 bound -> bytes
 *
 * webpack's identifiers, requests and snapshots are texts with absolute paths. In another checkout, they get the root of that
 * checkout. A list that names the root in any other way, such as in the bytes of a source, is bound to the root: nothing can
 * replace it there. `entries.ts` keeps what is bound from other checkouts.
 *
 * The steps of the serialiser are internal to webpack. With a webpack that has others, every value is bound.
 */
import type { Compiler } from 'webpack'
import { checkMark, type Root } from '../build/root.ts'
import { BytesStep, type Lazy, type LazyMarks } from './bytes.ts'

/** webpack's public serialiser to buffers. Its types declare promises, but it answers most calls synchronously. */
export type Serializer = Compiler['webpack']['util']['serialization']['buffersSerializer']

/** Whether what is being serialised is bound to the root; part of the context of webpack's serialiser. */
export interface Binding {
  isBound: boolean
  /** Makes no bytes of what is bound: the result is null. */
  readonly isStopping?: boolean
}

/** Serialisers with the step that makes paths relative. */
export interface PathSerializers {
  /** All steps. */
  readonly toBytes: Serializer
  /** The steps that find out whether a value is bound. */
  readonly toList: Serializer
}

/** How webpack wraps a lazy part in each step. */
interface LazyParts extends LazyMarks {
  getLazySerializedValue(lazy: Lazy): unknown
  serializeLazy(lazy: Lazy, change: (list: unknown[]) => unknown[]): Lazy
  deserializeLazy(lazy: Lazy, change: (list: unknown[]) => unknown[]): Lazy
}

/** Undefined if the steps of this webpack's serialiser are unknown. */
export function pathSerializers(webpack: Compiler['webpack'], root: Root): PathSerializers | undefined {
  const { buffersSerializer } = webpack.util.serialization
  const steps: unknown = Reflect.get(buffersSerializer, 'serializeMiddlewares')
  if (!Array.isArray(steps) || steps.length !== 3) return undefined
  const [single, objects, binary] = steps
  const lazyParts: unknown = Object.getPrototypeOf(binary.constructor)
  const Made = buffersSerializer.constructor
  if (!isLazyParts(lazyParts)) return undefined
  const list = [single, objects, new PathStep(root, lazyParts)]
  return {
    toBytes: Reflect.construct(Made, [[...list, new BytesStep(lazyParts, binary)]]),
    toList: Reflect.construct(Made, [list]),
  }
}

function isLazyParts(found: unknown): found is LazyParts {
  if (typeof found !== 'function') return false
  return ['createLazy', 'getLazySerializedValue', 'serializeLazy', 'deserializeLazy'].every(
    (name) => typeof Reflect.get(found, name) === 'function',
  )
}

/** The step between objects and bytes. */
class PathStep {
  readonly #root: Root
  readonly #lazyParts: LazyParts
  /** Lazy parts of values that are bound. webpack stores them again without asking this step for their content. */
  readonly #bound: WeakSet<Lazy> = new WeakSet()

  constructor(root: Root, lazyParts: LazyParts) {
    this.#root = root
    this.#lazyParts = lazyParts
  }

  /** Changes the list, which the step before has made for this one: a list may have a million items. */
  serialize(list: unknown[], { binding }: { readonly binding: Binding }): unknown[] | null {
    const relative = this.#makeRelative(list, binding)
    return binding.isBound && binding.isStopping === true ? null : relative
  }

  #makeRelative(list: unknown[], binding: Binding): unknown[] {
    const own: Binding = { isBound: false }
    for (let index = 0; index < list.length; index++) {
      const item = list[index]
      if (typeof item === 'string') list[index] = this.#relative(item, own)
      else if (isLazy(item)) list[index] = this.#lazy(item, own)
      else if (item instanceof Uint8Array) own.isBound ||= this.#root.isNamedIn(item)
    }
    list.push(own.isBound)
    binding.isBound ||= own.isBound
    return list
  }

  /** Changes the list, too. */
  deserialize(list: unknown[]): unknown[] {
    const isBound = list.pop() !== false
    for (let index = 0; index < list.length; index++) {
      const item = list[index]
      if (typeof item === 'string') list[index] = this.#root.toAbsolute(item)
      else if (isLazy(item)) list[index] = this.#restored(item, isBound)
    }
    return list
  }

  #relative(text: string, binding: Binding): string {
    // Resolving names the top directory in snapshots, as in each checkout below it. Elsewhere, webpack compares the snapshot.
    if (text.length < this.#root.pathLengthMin || text === this.#root.top) return text
    checkMark(text)
    const relative = this.#root.toRelative(text)
    binding.isBound ||= this.#root.isNamedIn(relative)
    return relative
  }

  /** A lazy part is serialised at once, because whether it is bound must be known. Its list is copied: webpack keeps the original. */
  #lazy(lazy: Lazy, binding: Binding): Lazy {
    const known = this.#lazyParts.getLazySerializedValue(lazy)
    const own: Binding = { isBound: this.#bound.has(lazy) }
    const made = isLazy(known)
      ? known
      : this.#lazyParts.serializeLazy(lazy, (list) => this.#makeRelative([...list], own))
    if (made !== known && made() instanceof Promise) own.isBound = true
    if (own.isBound) this.#bound.add(lazy)
    binding.isBound ||= own.isBound
    return made
  }

  #restored(lazy: Lazy, isBound: boolean): Lazy {
    const restored = this.#lazyParts.deserializeLazy(lazy, (list) => this.deserialize([...list]))
    if (isBound) this.#bound.add(restored)
    return restored
  }
}

function isLazy(item: unknown): item is Lazy {
  return typeof item === 'function'
}

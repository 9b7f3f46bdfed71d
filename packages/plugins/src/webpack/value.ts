/**
 * A value's bytes: `u8 1 | the pieces of the serialiser, one after another`. A large pack begins with another number; see `contents.ts`.
 *
 * The serialiser is webpack's with one more step, which stores paths inside the project relative to its root, and with another last step:
 *
 *   value -> objects as a flat list -> the same list with relative paths | u8 bound -> bytes
 *
 * webpack's identifiers, requests and snapshots are texts with absolute paths. In another checkout, they get the root of that
 * checkout. A list that names the root in any other way, such as in the bytes of a source, is bound to the root: nothing can
 * replace it there. `entries.ts` keeps what is bound from other checkouts.
 *
 * The steps of the serialiser are internal to webpack. With a webpack that has others, every value is bound.
 *
 * The last step gives a flat list as bytes, in pieces. One call of V8's serialiser writes all texts and numbers of a list.
 * Buffers and lazy parts follow in the order of the list, so that the compressor finds the code of a module beside its source.
 *
 *   u32 bytes of the values | values | buffers and lazy parts
 *
 * The values are two lists: the items, with `true` in place of a lazy part and `false` in place of a buffer; and for each of these, its
 * place and its bytes. A lazy part is a list in the same layout, restored when webpack calls its function.
 */
import { deserialize, serialize } from 'node:v8'
import type { Compiler } from 'webpack'
import { checkMark, type Root } from '../build/root.ts'

const STREAM = 1

/** A value as the output of the serialiser. */
export interface Serialized {
  readonly pieces: readonly Buffer[]
  /** Whether the value names the root in a way that only this checkout can use. */
  readonly isBound: boolean
}

/** Encodes and decodes values with the serialiser of one webpack. */
export class ValueCodec {
  readonly #serializer: Serializer
  readonly #paths: PathSerializers | undefined
  /** Whether the steps of this webpack's serialiser are unknown, so that paths cannot be relative. */
  readonly isAlwaysBound: boolean

  /** Paths in `root` are stored relative to it. */
  constructor(webpack: Compiler['webpack'], root: Root) {
    this.#paths = pathSerializers(webpack, root)
    this.#serializer = this.#paths?.toBytes ?? webpack.util.serialization.buffersSerializer
    this.isAlwaysBound = this.#paths === undefined
  }

  /**
   * The output of the serialiser; undefined if webpack declares the value not serialisable, or, with `isStopping`, if it is
   * bound. Throws if it fails.
   */
  serialize(data: object, isStopping = false): Serialized | undefined | Promise<Serialized | undefined> {
    const binding: Binding = { isBound: this.isAlwaysBound, isStopping }
    const serialized = (pieces: readonly unknown[] | null | undefined): Serialized | undefined =>
      pieces?.every((piece) => Buffer.isBuffer(piece)) ? { pieces, isBound: binding.isBound } : undefined
    const found: unknown[] | null | Promise<unknown[] | null> = this.#serializer.serialize(data, { binding })
    return found instanceof Promise ? found.then(serialized) : serialized(found)
  }

  /** Whether only this checkout can use a value, without making its bytes. Throws if it cannot be serialised. */
  async isBound(data: object): Promise<boolean> {
    const binding: Binding = { isBound: this.isAlwaysBound }
    await this.#paths?.toList.serialize(data, { binding })
    return binding.isBound
  }

  /** The bytes of a value. */
  join(pieces: readonly Buffer[]): Buffer {
    return Buffer.concat([Buffer.of(STREAM), ...pieces])
  }

  /** The value of these bytes, or a promise of it. Throws if it cannot be restored. */
  decode(bytes: Buffer): unknown {
    return this.deserialize([bytes.subarray(1)])
  }

  /** The value of these pieces, which may be divided in another way, or a promise of it. Throws if it cannot be restored. */
  deserialize(pieces: Buffer[]): unknown {
    return this.#serializer.deserialize(pieces, {})
  }
}

/** The same memory as a Buffer, which webpack expects. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

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

/** A function that returns the list of a lazy part. webpack marks it with the step that it belongs to. */
export type Lazy = () => unknown

/** How webpack marks a function as lazy. */
export interface LazyMarks {
  createLazy(make: Lazy, step: object): Lazy
}

const HEAD_BYTES = 4

/** The bytes of lazy parts that were made or restored: these are stored again as they are. */
const piecesOfLazy: WeakMap<Lazy, readonly Buffer[]> = new WeakMap()

/** The step between lists and bytes. */
export class BytesStep {
  readonly #marks: LazyMarks
  readonly #step: object

  /** `step` is webpack's own step, by which webpack knows lazy parts as ready to be stored. */
  constructor(marks: LazyMarks, step: object) {
    this.#marks = marks
    this.#step = step
  }

  /** Changes the list, which the step before has made for this one. Throws if an item is neither primitive, nor a buffer, nor a lazy part. */
  serialize(list: unknown[]): Buffer[] {
    const places: number[] = []
    const parts: Buffer[] = []
    for (let place = 0; place < list.length; place++) {
      const item = list[place]
      if (typeof item === 'function') {
        const pieces = this.#piecesOf(item as Lazy)
        places.push(place, lengthOf(pieces))
        for (const piece of pieces) parts.push(piece)
        list[place] = true
      } else if (typeof item === 'object' && item !== null) {
        if (!Buffer.isBuffer(item)) throw new Error('the list has an object')
        places.push(place, item.length)
        parts.push(item)
        list[place] = false
      }
    }
    const values = serialize([list, places])
    const head = Buffer.allocUnsafe(HEAD_BYTES)
    head.writeUInt32LE(values.length)
    return [head, values, ...parts]
  }

  /** Throws if the pieces are not those of a list. Lazy parts are checked when they are restored. */
  deserialize(pieces: readonly Buffer[]): unknown[] {
    const source = new Source(pieces)
    const size = source.takeOne(HEAD_BYTES).readUInt32LE()
    const [list, places] = checked(deserialize(source.takeOne(size)))
    for (let index = 0; index < places.length; index += 2) {
      const place = places[index]
      const bytes = places[index + 1]
      if (typeof place !== 'number' || typeof bytes !== 'number') throw new Error('a part has no place')
      const isPart = list[place]
      if (typeof isPart !== 'boolean') throw new Error('a part has no place in its list')
      list[place] = isPart ? this.#lazyOf(source.take(bytes)) : source.takeOne(bytes)
    }
    if (!source.isEmpty) throw new Error('a list has more bytes than its parts')
    return list
  }

  #piecesOf(lazy: Lazy): readonly Buffer[] {
    const known = piecesOfLazy.get(lazy)
    if (known !== undefined) return known
    const list = lazy()
    if (!Array.isArray(list)) throw new Error('a lazy part has no list')
    const pieces = this.serialize([...list])
    piecesOfLazy.set(lazy, pieces)
    return pieces
  }

  #lazyOf(pieces: readonly Buffer[]): Lazy {
    const lazy = this.#marks.createLazy(() => this.deserialize(pieces), this.#step)
    piecesOfLazy.set(lazy, pieces)
    return lazy
  }
}

export function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

function checked(found: unknown): [list: unknown[], places: unknown[]] {
  const [list, places]: unknown[] = Array.isArray(found) ? found : []
  if (!Array.isArray(list) || !Array.isArray(places)) throw new Error('the values are no list')
  return [list, places]
}

/** Bytes in pieces, from which parts are taken in order. A part inside of one piece is not copied. */
class Source {
  readonly #pieces: readonly Buffer[]
  #index = 0
  #position = 0

  constructor(pieces: readonly Buffer[]) {
    this.#pieces = pieces.filter(({ length }) => length > 0)
  }

  get isEmpty(): boolean {
    return this.#index === this.#pieces.length
  }

  takeOne(size: number): Buffer {
    const pieces = this.take(size)
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
  }

  take(size: number): Buffer[] {
    const taken: Buffer[] = []
    for (let left = size; left > 0;) {
      const piece = this.#pieces[this.#index]?.subarray(this.#position, this.#position + left)
      if (piece === undefined) throw new Error('a list ends early')
      taken.push(piece)
      left -= piece.length
      this.#position += piece.length
      if (this.#position < (this.#pieces[this.#index]?.length ?? 0)) continue
      this.#position = 0
      this.#index += 1
    }
    return taken
  }
}

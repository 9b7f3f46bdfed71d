/**
 * The last step of the serialiser: a flat list as bytes, in pieces. One call of V8's serialiser writes all texts and numbers of a list.
 * Buffers and lazy parts follow in the order of the list, so that the compressor finds the code of a module beside its source.
 *
 *   u32 bytes of the values | values | buffers and lazy parts
 *
 * The values are two lists: the items, with `true` in place of a lazy part and `false` in place of a buffer; and for each of these, its
 * place and its bytes. A lazy part is a list in the same layout, restored when webpack calls its function.
 */
import { deserialize, serialize } from 'node:v8'

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
      const [place, bytes] = [places[index], places[index + 1]]
      if (typeof place !== 'number' || typeof bytes !== 'number') throw new Error('a part has no place')
      const isLazy = list[place]
      if (typeof isLazy !== 'boolean') throw new Error('a part has no place in its list')
      list[place] = isLazy ? this.#lazyOf(source.take(bytes)) : source.takeOne(bytes)
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

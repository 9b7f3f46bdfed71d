/** A value's bytes: `u8 1 | the pieces of the serialiser, one after another`. A large pack begins with another number; see `contents.ts`. */
import type { Compiler } from 'webpack'
import type { Root } from '../build/root.ts'
import { type Binding, type PathSerializers, pathSerializers, type Serializer } from './paths.ts'

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

/** What the contract uses of the class of Node.js, for a browser. */
export class Buffer extends Uint8Array {
  static override from(source: unknown, offset?: unknown, length?: unknown): Buffer {
    if (source instanceof ArrayBuffer) return new Buffer(source, Number(offset), Number(length))
    return new Buffer(new TextEncoder().encode(String(source)))
  }

  static byteLength(text: string): number {
    return new TextEncoder().encode(text).length
  }

  static compare(one: Uint8Array, other: Uint8Array): number {
    return one.length === other.length && one.every((byte, index) => byte === other[index]) ? 0 : 1
  }
}

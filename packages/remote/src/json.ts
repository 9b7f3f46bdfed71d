/** JSON from a store: parsed if it is small, and what its values are. */

/** Objects, arrays and members take up to 20 times the memory of their bytes. Throws SyntaxError if there are more than `partsMax`. */
export function parseJson(bytes: Uint8Array, partsMax: number): unknown {
  let parts = 0
  for (const byte of bytes) if (byte === 0x7b || byte === 0x5b || byte === 0x2c) parts += 1
  if (parts > partsMax) throw new SyntaxError(`the JSON has more than ${partsMax} parts`)
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString())
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** A whole number of things or bytes. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** SHA-256 in hex. */
export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
}

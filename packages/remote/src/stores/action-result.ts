/**
 * Bytes as an `ActionResult` of the remote execution protocol, which servers for Bazel store under `/ac/` and may check: the exit code 0, and
 * the bytes as what the action wrote to its standard output.
 *
 *   20 00                  field 4, exit_code = 0: an empty message would be refused
 *   2a <length> <bytes>    field 5, stdout_raw
 *
 * A server may add fields, such as its own name, so a reader skips what it does not know.
 */
const EXIT_CODE = [0x20, 0x00]
const STDOUT_RAW = 5

/** Types of fields: a number, 8 bytes, bytes with their length, 4 bytes. */
const [NUMBER, FIXED64, BYTES, FIXED32] = [0, 1, 2, 5]

export function encodeActionResult(bytes: Uint8Array): Uint8Array {
  const head = Buffer.from([...EXIT_CODE, (STDOUT_RAW << 3) | (BYTES ?? 0), ...encodeNumber(bytes.length)])
  return new Uint8Array(Buffer.concat([head, bytes]))
}

/** Most bytes that the message adds. A server that adds more than 4 KiB of its own is not supported. */
export const ACTION_RESULT_EXTRA = 4096

/** The bytes in a message; undefined if it is none. */
export function decodeActionResult(message: Uint8Array): Uint8Array | undefined {
  let found = new Uint8Array()
  for (let at = 0; at < message.length;) {
    const key = decodeNumber(message, at)
    const first = key === undefined ? undefined : decodeNumber(message, key.end)
    if (key === undefined) return undefined
    const type = key.value % 8
    if (type === FIXED64 || type === FIXED32) at = key.end + (type === FIXED64 ? 8 : 4)
    else if (first === undefined) return undefined
    else if (type === NUMBER) at = first.end
    else if (type !== BYTES) return undefined
    else {
      at = first.end + first.value
      if (at > message.length) return undefined
      if (Math.floor(key.value / 8) === STDOUT_RAW) found = message.slice(first.end, at)
    }
  }
  return found
}

/** A number in groups of 7 bits, the lowest first; all groups but the last have the highest bit set. */
function encodeNumber(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...encodeNumber(Math.floor(value / 128))]
}

function decodeNumber(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0
  for (let index = 0; index < 10; index++) {
    const byte = bytes[start + index]
    if (byte === undefined) return undefined
    value += (byte % 128) * 2 ** (7 * index)
    if (byte < 128) return Number.isSafeInteger(value) ? { value, end: start + index + 1 } : undefined
  }
  return undefined
}

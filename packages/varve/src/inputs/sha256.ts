/** SHA-256 (FIPS 180-4) for hosts without node:crypto: WebCrypto has it too, but only as a promise, and digests are needed at once. */

interface Constants {
  readonly rounds: Uint32Array
  readonly start: Uint32Array
}

/** Made once they are used: Node.js has its own, and would spend 0.2 ms at each start. */
let constants: Constants | undefined

const BLOCK_BYTES = 64
/** The byte after the data, and the number of its bits. */
const END_BYTES = 9

/** The digest of bytes, as base64url. */
export function sha256(data: Uint8Array): string {
  const padded = new Uint8Array(Math.ceil((data.length + END_BYTES) / BLOCK_BYTES) * BLOCK_BYTES)
  padded.set(data)
  padded[data.length] = 0x80
  const words = new DataView(padded.buffer)
  words.setBigUint64(padded.length - 8, BigInt(data.length) * 8n)
  const { rounds, start } = (constants ??= makeConstants())
  const state = start.slice()
  const schedule = new Uint32Array(rounds.length)
  for (let offset = 0; offset < padded.length; offset += BLOCK_BYTES) {
    for (let index = 0; index < 16; index++) schedule[index] = words.getUint32(offset + 4 * index)
    mix(state, schedule, rounds)
  }
  for (const [index, word] of state.entries()) words.setUint32(4 * index, word)
  const text = btoa(String.fromCharCode(...padded.subarray(0, 4 * state.length)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
}

/** Mixes a block, whose 16 words the schedule begins with, into the state. */
function mix(state: Uint32Array, schedule: Uint32Array, rounds: Uint32Array): void {
  const word = (index: number): number => schedule[index] ?? 0
  for (let index = 16; index < schedule.length; index++) {
    const [early, late] = [word(index - 15), word(index - 2)]
    const first = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3)
    const second = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10)
    schedule[index] = word(index - 16) + first + word(index - 7) + second
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (const [index, constant] of rounds.entries()) {
    const chosen = (e & f) ^ (~e & g)
    const added = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + chosen + constant + word(index)) | 0
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const mixed = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + added) | 0, c, b, a, (added + mixed) | 0]
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) state[index] = (state[index] ?? 0) + value
}

function makeConstants(): Constants {
  const first = primes(64)
  return {
    rounds: Uint32Array.from(first, (prime) => fraction(Math.cbrt(prime))),
    start: Uint32Array.from(first.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
  }
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

/** The first 32 bits after the point. */
function fraction(value: number): number {
  return Math.floor((value % 1) * 2 ** 32)
}

function primes(count: number): readonly number[] {
  const found: number[] = []
  for (let number = 2; found.length < count; number++)
    if (found.every((prime) => number % prime !== 0)) found.push(number)
  return found
}

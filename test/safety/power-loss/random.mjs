// @ts-check
// Pseudorandom numbers that are the same on every machine.

/** A number below 2^32 from some others. @param {...number} parts */
export function mix(...parts) {
  let state = 0x9e3779b9
  for (const part of parts) {
    state = Math.imul(state ^ (part >>> 0), 0x85ebca6b)
    state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35)
    state = (state ^ (state >>> 16)) + 0x9e3779b9
  }
  return (state ^ (state >>> 15)) >>> 0
}

/** A number below 2^32 from a text. @param {string} text */
export function mixText(text) {
  let state = 0
  for (let i = 0; i < text.length; i++) state = mix(state, text.charCodeAt(i))
  return state
}

/** So many bytes that nothing compresses. @param {number} seed @param {number} count */
export function noise(seed, count) {
  const words = new Uint32Array(Math.ceil(count / 4))
  let state = mix(seed) || 1
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    words[i] = state
  }
  return Buffer.from(words.buffer, 0, count)
}

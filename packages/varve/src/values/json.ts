/**
 * JSON from a cache, which may be a bomb: 263 KB of a directory become 60 MiB of brackets, and V8 takes 2.7 GB and many
 * seconds for these. What parsing costs goes by the elements: objects, arrays and what they hold. So these are limited. A
 * text of no more characters than that cannot have more elements, so only longer ones are counted, strings by `indexOf`.
 */

/** Most elements of a value, counted by the brackets and commas outside of strings: at most 256 MB where all are empty objects. */
export const ELEMENTS_MAX: number = 1 << 22

/** Captured early, because programs replace them. */
const { parse, stringify } = JSON

/** Code units of JSON. */
const QUOTE = 0x22
const COMMA = 0x2c
const ARRAY = 0x5b
const OBJECT = 0x7b
const BACKSLASH = 0x5c

/** Like `JSON.stringify`, but methods `toJSON` that a program has added to prototypes of the language do not count. */
export function jsonOf(value: unknown): string {
  return stringify('toJSON' in Array.prototype ? withoutMethods(value) : value)
}

/** A copy whose objects inherit nothing, and whose arrays hide what they inherit. */
function withoutMethods(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.defineProperty(value.map(withoutMethods), 'toJSON', { value: undefined })
  const copy: Record<string, unknown> = Object.create(null)
  for (const [name, member] of Object.entries(value)) copy[name] = withoutMethods(member)
  return copy
}

/** Like `JSON.parse`, but throws a SyntaxError if there are too many elements. */
export function parseJson(text: string): unknown {
  if (hasTooMany(text)) throw new SyntaxError(`the JSON has more than ${ELEMENTS_MAX} elements`)
  return parse(text)
}

/** Whether a text of JSON has more elements than a value may have. For a text that is not JSON, the answer is arbitrary. */
export function hasTooMany(text: string): boolean {
  if (text.length <= ELEMENTS_MAX) return false
  let elements = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) index = endOfString(text, index)
    else if ((unit === COMMA || unit === ARRAY || unit === OBJECT) && ++elements > ELEMENTS_MAX) return true
  }
  return false
}

/** The index of the last quote of the string that begins at `start`, or the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === BACKSLASH) before--
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}

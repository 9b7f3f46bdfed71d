/**
 * JSON as a codec: what a text may cost to parse, and which values come back as something else.
 *
 * JSON from a cache may be a bomb: 263 KB of a directory become 60 MiB of brackets, and V8 takes 2.7 GB and many
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

// What of a value would come back from JSON, or from structured clone, as something else: a Map that JSON makes `{}` of, an instance without its class.

/** The first such place of a value. */
export interface Unlike {
  /** Path in the value, such as `.modules[3].map`; empty for the value itself. */
  readonly path: string
  /** What is there, in words. */
  readonly what: string
}

/** Where JSON would give back something else. A member that is undefined may be left out: reading it gives the same. */
export function unlikeInJson(value: unknown): Unlike | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return undefined
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : here(String(value))
  if (typeof value !== 'object') return here(typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`)
  if (value === null) return undefined
  if (Array.isArray(value))
    return Object.hasOwn(value, 'index') ? here('a match of a pattern') : unlikeElement(value, unlikeInJson)
  return isPlain(value) ? unlikeMember(value, unlikeInJson) : here(kindOf(value))
}

/** Where structured clone would give back something else; `seen` has what is looked at already. */
export function unlikeInClone(value: unknown, seen: Set<object> = new Set()): Unlike | undefined {
  if (typeof value === 'function' || typeof value === 'symbol') return here(`a ${typeof value}`)
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined
  seen.add(value)
  const look = (part: unknown): Unlike | undefined => unlikeInClone(part, seen)
  if (Array.isArray(value)) return unlikeElement(value, look)
  if (isPlain(value)) return unlikeMember(value, look)
  if (ArrayBuffer.isView(value)) return undefined
  if (!CLONED.has(Object.prototype.toString.call(value).slice('[object '.length, -1)) || hasOwnClass(value))
    return here(kindOf(value))
  if (value instanceof Map) return unlikeElement([...value.entries()], look)
  if (value instanceof Set) return unlikeElement([...value], look)
  return undefined
}

/** Classes whose instances structured clone gives back. It makes an empty object of a URL. */
const CLONED: ReadonlySet<string> = new Set([
  'Map',
  'Set',
  'Date',
  'RegExp',
  'Boolean',
  'Number',
  'String',
  'BigInt',
  'ArrayBuffer',
  'Error',
])

/** Errors that structured clone gives back; it makes an `Error` of those of other classes. */
const ERRORS: ReadonlySet<string> = new Set([
  'Error',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
])

/** Whether an instance of such a class has a class of the program, or is an error with properties, which both get lost. */
function hasOwnClass(value: object): boolean {
  if (Object.prototype.toString.call(value) !== '[object Error]') return isSubclass(value)
  return Object.keys(value).length > 0 || !ERRORS.has(value.constructor?.name)
}

/** Whether a built-in class with no other between it and objects is not the class of this value: one of the program is. */
function isSubclass(value: object): boolean {
  const above: unknown = Object.getPrototypeOf(Object.getPrototypeOf(value) ?? {})
  return above !== null && Object.getPrototypeOf(above) !== null
}

/** Whether `value` is an object of no class, also one of another realm. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** What an object is, in words. */
export function kindOf(value: object): string {
  return `a ${value.constructor?.name || Object.prototype.toString.call(value)}`
}

function unlikeElement(array: readonly unknown[], look: (value: unknown) => Unlike | undefined): Unlike | undefined {
  if (isSubclass(array)) return here(kindOf(array))
  for (let index = 0; index < array.length; index++) {
    const found = look(array[index])
    if (found !== undefined) return { ...found, path: `[${index}]${found.path}` }
  }
  return undefined
}

function unlikeMember(object: object, look: (value: unknown) => Unlike | undefined): Unlike | undefined {
  // A third of the time of Object.entries.
  for (const name in object) {
    if (!Object.hasOwn(object, name)) continue // a program may have added it to the prototype of all objects
    const value: unknown = object[name as keyof typeof object]
    const found = value === undefined || typeof value === 'string' ? undefined : look(value)
    if (found !== undefined) return { ...found, path: `.${name}${found.path}` }
  }
  return undefined
}

function here(what: string): Unlike {
  return { path: '', what }
}

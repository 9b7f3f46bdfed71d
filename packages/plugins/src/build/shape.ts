/**
 * Shapes check a value from a cache before it is used. A cache may contain anything, so every part is checked and unknown
 * parts are rejected; a value that passes is safe to hand to a tool. A result is checked with the same shape before it is
 * stored, so that no stored result is rejected later.
 */
import { isAbsolute } from 'node:path'

/** Whether a value is of this shape. Values are plain data and bytes, as `unpack` makes them. */
export type Shape<T> = (value: unknown) => value is T

export const isAnything: Shape<unknown> = (value): value is unknown => {
  void value
  return true
}

export const isText: Shape<string> = (value) => typeof value === 'string'
export const isBytes: Shape<Uint8Array> = (value) => value instanceof Uint8Array
export const isFlag: Shape<boolean> = (value) => typeof value === 'boolean'

/** A count or an index: a 32-bit unsigned integer. */
export const isIndex: Shape<number> = (value): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32

/** A number of bytes. */
export const isCount: Shape<number> = (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** A text that file systems accept as a path. */
export const isPath: Shape<string> = (value): value is string => isText(value) && value !== '' && !value.includes('\0')
export const isAbsolutePath: Shape<string> = (value): value is string => isPath(value) && isAbsolute(value)

/** An object whose values may be anything. */
export const isDictionary: Shape<Readonly<Record<string, unknown>>> = (
  value,
): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isBytes(value)

/** One of these values. */
export function exactly<const Values extends readonly (string | boolean | null)[]>(
  ...values: Values
): Shape<Values[number]> {
  return (value): value is Values[number] => values.some((one) => one === value)
}

export function listOf<T>(item: Shape<T>): Shape<T[]> {
  return (value): value is T[] => Array.isArray(value) && value.every((one) => item(one))
}

/** A list of exactly these items; trailing items may be left out if their shapes accept undefined. */
export function tupleOf<T extends readonly unknown[]>(
  ...items: { readonly [Index in keyof T]: Shape<T[Index]> }
): Shape<T> {
  return (value): value is T =>
    Array.isArray(value) && value.length <= items.length && items.every((item, at) => item(value[at]))
}

/** An object with these fields and no other. */
export function objectOf<T extends object>(fields: { readonly [Name in keyof T]-?: Shape<T[Name]> }): Shape<T> {
  const shapes = new Map<string, Shape<unknown>>(Object.entries(fields))
  return (value): value is T => {
    if (!isDictionary(value)) return false
    for (const name of Object.keys(value)) if (!shapes.has(name)) return false
    for (const [name, shape] of shapes) if (!shape(Object.hasOwn(value, name) ? value[name] : undefined)) return false
    return true
  }
}

/** An object with these fields, and any others, which the tool checks or ignores. */
export function hasFields<T extends object>(fields: { readonly [Name in keyof T]-?: Shape<T[Name]> }): Shape<T> {
  const shapes = Object.entries<Shape<unknown>>(fields)
  return (value): value is T =>
    isDictionary(value) && shapes.every(([name, shape]) => shape(Object.hasOwn(value, name) ? value[name] : undefined))
}

/** A value of one of these shapes. */
export function either<T extends readonly unknown[]>(
  ...shapes: { readonly [Index in keyof T]: Shape<T[Index]> }
): Shape<T[number]> {
  return (value): value is T[number] => shapes.some((shape) => shape(value))
}

/** The value, or undefined: the field may be left out. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value): value is T | undefined => value === undefined || shape(value)
}

/** The value, undefined or null, for fields in which tools accept all three. */
export function nullable<T>(shape: Shape<T>): Shape<T | null | undefined> {
  return (value): value is T | null | undefined => value === undefined || value === null || shape(value)
}

/** A value of that shape for which `holds` is true as well. */
export function withCheck<T>(shape: Shape<T>, holds: (value: T) => boolean): Shape<T> {
  return (value): value is T => shape(value) && holds(value)
}

/** Thrown inside a task whose result cannot be stored or replayed. */
export class Uncacheable extends Error {
  /** @param reason a few words, the same for all calls of its kind, because statistics count by it */
  constructor(reason: string) {
    super(reason)
    this.name = 'Uncacheable'
  }
}

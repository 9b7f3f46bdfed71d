// @ts-check
// What hostile folders are made of.
import { manifestOf, pack } from '../forge.mjs'

/**
 * Files of `v1` by name; of those in `sparse` the length, with the given bytes at their end.
 * @typedef {{ files: Record<string, Buffer>, sparse?: Record<string, { bytes: number, tail: Buffer }> }} Hostile
 */

export const MOST = (1n << 64n) - 1n
export const NAME = /** @type {const} */ ({ name: 'n', version: '1/1' })
export const LENGTHS = [0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff]
export const KEY = Buffer.from('key 0')
export const VALUE = Buffer.from('value')

/** A manifest and nothing else. @param {Parameters<typeof manifestOf>[1]} of @param {bigint} [number] @returns {Hostile} */
export const withManifest = (of, number = 1n) => ({ files: { [`manifest-${number}`]: manifestOf(number, of) } })

/**
 * An entry of a commit; `lengths` replaces its true ones.
 * @param {number} kind @param {Buffer} key @param {Buffer} value @param {{ key?: number, value?: number }} [lengths]
 */
export const entry = (kind, key, value, lengths = {}) =>
  pack([
    ['u16', kind],
    ['u16', lengths.key ?? key.length],
    ['u32', lengths.value ?? value.length],
    ['raw', key],
    ['raw', value],
  ])

/** A commit to the one namespace. @param {readonly Buffer[]} entries */
export const commit = (...entries) =>
  pack([
    ['u64', 1_700_000_000_000],
    ['u16', 1],
    ['u16', 0],
    ['text', NAME.name],
    ['text', NAME.version],
    ['raw', Buffer.concat(entries)],
  ])

/**
 * A hostile folder for each number.
 * @template {number | bigint} N
 * @param {string} what @param {readonly N[]} numbers @param {(number: N) => Hostile} make @returns {Record<string, () => Hostile>}
 */
export function many(what, numbers, make) {
  return Object.fromEntries(numbers.map((number) => [`${what} ${number}`, () => make(number)]))
}

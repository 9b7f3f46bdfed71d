// @ts-check
// How a write can be torn: cut at a sector, at a page or at any byte, or with zeros in place of missing sectors.
import { mix } from './random.mjs'

export const SECTOR_BYTES = 512
const PAGE_BYTES = 4096

/** How many places of one kind are tried in one write; if there are more, random ones. */
const PLACES_MAX = 6

/**
 * `cut`: only so many bytes were written. `zeros`: the file is as long as it should be, and those sectors, counted from
 * the write's first, never arrived: they are zero, or what they were where the file had them before.
 * @typedef {{ cut: number, zeros?: undefined } | { cut?: undefined, zeros: { only?: number, seed?: number } }} Tear
 */

/** @param {number} offset @param {number} length @param {number} seed @returns {Tear[]} */
export function many(offset, length, seed) {
  const cuts = [...boundaries(offset, length, SECTOR_BYTES, seed), ...boundaries(offset, length, PAGE_BYTES, mix(seed, 1))]
  if (length > 1) cuts.push(1, length - 1, 1 + (mix(seed, 2) % (length - 1)))
  const sectors = Math.ceil((offset + length) / SECTOR_BYTES) - Math.floor(offset / SECTOR_BYTES)
  /** @type {Tear[]} */
  const zeros = [{ zeros: {} }]
  if (sectors > 1) zeros.push(...[0, sectors - 1, mix(seed, 3) % sectors].map((only) => ({ zeros: { only } })))
  if (sectors > 2) zeros.push({ zeros: { seed: mix(seed, 4) } }, { zeros: { seed: mix(seed, 5) } })
  return [...[...new Set(cuts)].map((cut) => ({ cut })), ...zeros]
}

/** @param {number} offset @param {number} length @param {number} seed @returns {Tear[]} */
export function aFew(offset, length, seed) {
  /** @type {Tear[]} */
  const tears = [{ zeros: {} }]
  const cuts = boundaries(offset, length, SECTOR_BYTES, seed)
  const cut = cuts[mix(seed, 1) % cuts.length]
  if (cut !== undefined) tears.push({ cut })
  if (length > 1) tears.push({ cut: 1 + (mix(seed, 2) % (length - 1)) })
  if (length > 2 * SECTOR_BYTES) tears.push({ zeros: { seed: mix(seed, 3) } })
  return tears
}

/** Lengths that end at a multiple of `unit` in the file. @param {number} offset @param {number} length @param {number} unit @param {number} seed */
function boundaries(offset, length, unit, seed) {
  const first = (Math.floor(offset / unit) + 1) * unit - offset
  const count = Math.max(0, Math.ceil((length - first) / unit))
  const some = () => [0, 1, count - 1, ...Array.from({ length: PLACES_MAX - 3 }, (_, i) => mix(seed, i) % count)]
  const chosen = count <= PLACES_MAX ? [...Array(count).keys()] : some()
  return chosen.map((index) => first + index * unit)
}

/**
 * The pieces of a write that a tear leaves, as from and to in its bytes.
 * @param {Tear} tear
 * @param {number} offset
 * @param {number} length
 * @returns {[from: number, to: number][]}
 */
export function remains(tear, offset, length) {
  if (tear.cut !== undefined) return [[0, tear.cut]]
  const { only, seed } = tear.zeros
  const first = Math.floor(offset / SECTOR_BYTES)
  /** @type {[number, number][]} */
  const pieces = []
  for (let at = 0; at < length; ) {
    const sector = Math.floor((offset + at) / SECTOR_BYTES) - first
    const end = Math.min(length, (first + sector + 1) * SECTOR_BYTES - offset)
    const isMissing = only === undefined ? seed === undefined || mix(seed, sector) % 2 === 0 : sector === only
    if (!isMissing) pieces.push([at, end])
    at = end
  }
  return pieces
}

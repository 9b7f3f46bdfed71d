// @ts-check
// Values as bundlers cache them: pieces of the JavaScript files in node_modules, in the order of their paths.
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../../scripts/common/root.mjs'

/** @returns {Generator<string>} */
function* scripts(folder = at('node_modules')) {
  const entries = readdirSync(folder, { withFileTypes: true }).toSorted((left, right) =>
    left.name < right.name ? -1 : 1,
  )
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* scripts(path)
    else if (entry.isFile() && /\.[cm]?js$/.test(entry.name)) yield path
  }
}

/**
 * Text of that length. It repeats from the start if node_modules has less.
 * @param {number} bytes
 */
export function readText(bytes) {
  const text = Buffer.allocUnsafe(bytes)
  let filled = 0
  for (const path of scripts()) {
    if (filled === bytes) return text
    const file = openSync(path, 'r')
    filled += readSync(file, text, filled, Math.min(statSync(path).size, bytes - filled), null)
    closeSync(file)
  }
  const length = filled
  for (; filled < bytes; filled += length) text.copyWithin(filled, 0, length)
  return text
}

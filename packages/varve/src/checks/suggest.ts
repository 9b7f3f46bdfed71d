/** Finds the known word that a misspelt one most resembles. */

/**
 * The nearest of `known` to `given`, undefined if more than a third of the letters differ.
 * Upper and lower case count as the same.
 *
 * @example
 * suggest('readonly', ['readOnly', 'name']) // 'readOnly'
 */
export function suggest(given: string, known: readonly string[]): string | undefined {
  if (given.length > 64) return undefined
  let nearest: string | undefined
  let nearestDistance = Infinity
  for (const word of known) {
    const distance = editDistance(given.toLowerCase(), word.toLowerCase())
    if (distance <= Math.max(1, Math.floor(word.length / 3)) && distance < nearestDistance) {
      nearest = word
      nearestDistance = distance
    }
  }
  return nearest
}

/** Fewest single letters to insert, remove or replace to make `target` of `source` (Levenshtein), one row at a time. */
function editDistance(source: string, target: string): number {
  let previous = Array.from({ length: target.length + 1 }, (_, index) => index)
  for (let i = 0; i < source.length; i++) {
    const row = [i + 1]
    for (let j = 0; j < target.length; j++) {
      const replaced = (previous[j] ?? 0) + (source[i] === target[j] ? 0 : 1)
      row.push(Math.min(replaced, (previous[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1))
    }
    previous = row
  }
  return previous[target.length] ?? 0
}

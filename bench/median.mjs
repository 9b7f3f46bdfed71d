// @ts-check

/** The median of numbers: the mean of the middle two if their count is even. @param {readonly number[]} numbers */
export function median(numbers) {
  const sorted = numbers.toSorted((left, right) => left - right)
  const middle = sorted.length >> 1
  const above = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? above : (above + (sorted[middle - 1] ?? above)) / 2
}

// @ts-check
// Draws the ratios: a line for each id and rival, and a dot for each metric on a logarithmic axis. A vertical line marks a ratio
// of 1, and a tick the goal. Varve is better left of 1. The result is plain SVG for light and dark pages.

/** @typedef {import('./results.mjs').Compared} Compared */

const WIDTH = 1060
const LEFT = 620
const RIGHT = WIDTH - 24
const TOP = 76
const LINE = 18
const STYLE = `
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328 }
.title { font-weight: bold; font-size: 14px }
.faint { fill: #59636e }
.page { fill: #fff }
.grid { stroke: #d1d9e0 }
.equal { stroke: #1f2328; stroke-width: 1.5 }
.wall { fill: #0969da; stroke: #0969da }
.cpu { fill: #bc4c00; stroke: #bc4c00 }
.bytes { fill: #1a7f37; stroke: #1a7f37 }
.growth { fill: #8250df; stroke: #8250df }
.goal { stroke-width: 2.5 }
circle.wall { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .faint { fill: #9198a1 }
  .page { fill: #0d1117 }
  .grid { stroke: #3d444d }
  .equal { stroke: #f0f6fc }
  .wall { fill: #58a6ff; stroke: #58a6ff }
  .cpu { fill: #f0883e; stroke: #f0883e }
  .bytes { fill: #3fb950; stroke: #3fb950 }
  .growth { fill: #bc8cff; stroke: #bc8cff }
}
`

/** @param {string} text */
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** @param {number} x @param {number} y @param {string} text @param {string} [rest] */
const label = (x, y, text, rest = '') => `<text x="${x}" y="${y}"${rest}>${escaped(text)}</text>`

/** @param {number} x @param {number} from @param {number} to @param {string} kind */
const vertical = (x, from, to, kind) => `<line class="${kind}" x1="${x}" x2="${x}" y1="${from}" y2="${to}"/>`

/** Wall time is a larger ring, visible around CPU time. @param {string} metric @param {number} x @param {number} y @param {string} [hint] */
const dot = (metric, x, y, hint = '') =>
  `<circle class="${metric}" cx="${x}" cy="${y}" r="${metric === 'wall' ? 5 : 3.5}">${hint}</circle>`

/** The ratio that meets the goal. @param {Compared} result */
function goalRatio({ goal, rival }) {
  if (goal === null || rival === null) return undefined
  return goal.of === 'ours' ? goal.max / rival : goal.max
}

/** The powers of ten that span all ratios and 1. @param {readonly Compared[]} results */
function decadesOf(results) {
  const ratios = results.flatMap((result) => [result.ratio ?? 1, goalRatio(result) ?? 1]).filter((ratio) => ratio > 0)
  const powers = ratios.map(Math.log10)
  return { first: Math.floor(Math.min(-1, ...powers)), last: Math.ceil(Math.max(1, ...powers)) }
}

/** @param {{ first: number, last: number }} decades */
function gridOf({ first, last }) {
  const ratios = []
  for (let power = first; power <= last; power++) ratios.push(10 ** power, ...(power < last ? [3 * 10 ** power] : []))
  return ratios.map((ratio) => Number(ratio.toPrecision(1)))
}

/** @param {readonly Compared[]} results @param {(ratio: number) => number} x @param {number} y the middle of the line */
function lineOf(results, x, y) {
  const [{ id, name } = { id: '', name: '' }] = results
  const parts = [label(12, y + 4, id), label(LEFT - 12, y + 4, name ?? '', ' class="faint" text-anchor="end"')]
  for (const result of results) {
    const { metric, ratio } = result
    const goal = goalRatio(result)
    if (goal !== undefined) parts.push(vertical(x(goal), y - 8, y + 8, `${metric} goal`))
    const hint = `<title>${escaped(`${id} ${metric}: ${ratio?.toPrecision(3)} of ${name}`)}</title>`
    parts.push(dot(metric, x(ratio ?? 1), y, hint))
  }
  return parts.join('')
}

/** @param {readonly Compared[]} all @param {readonly { ratio: number, x: number }[]} grid @param {number} bottom @param {string} subtitle */
function frameOf(all, grid, bottom, subtitle) {
  const parts = [
    label(12, 22, 'Varve / rival: left of 1 is better', ' class="title"'),
    label(12, 42, subtitle, ' class="faint"'),
  ]
  const metrics = [...new Set(all.map(({ metric }) => metric))]
  metrics.forEach((metric, index) => {
    const x = LEFT + index * 76
    parts.push(dot(metric, x, 18), label(x + 10, 22, metric))
  })
  parts.push(
    vertical(LEFT + metrics.length * 76, 11, 25, 'goal equal'),
    label(LEFT + metrics.length * 76 + 8, 22, 'goal'),
  )
  for (const { ratio, x } of grid) {
    parts.push(vertical(x, TOP - 12, bottom, ratio === 1 ? 'equal' : 'grid'))
    parts.push(label(x, TOP - 18, String(ratio), ' class="faint" text-anchor="middle"'))
  }
  return parts
}

/** @param {readonly Compared[]} results @param {string} subtitle */
export function plot(results, subtitle) {
  const decades = decadesOf(results)
  const x = (/** @type {number} */ ratio) => {
    const part = (Math.log10(ratio) - decades.first) / (decades.last - decades.first)
    return Number((LEFT + 16 + part * (RIGHT - LEFT - 16)).toFixed(1))
  }
  const lines = groups(results)
  const bottom = TOP + lines.length * LINE
  const frame = frameOf(
    results,
    gridOf(decades).map((ratio) => ({ ratio, x: x(ratio) })),
    bottom,
    subtitle,
  )
  const rows = lines.map((line, index) => lineOf(line, x, TOP + index * LINE + LINE / 2))
  const height = bottom + 14
  const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`
  const page = `<rect class="page" width="${WIDTH}" height="${height}"/>`
  return `${[open, `<title>Varve and its rivals</title><style>${STYLE}</style>`, page, ...frame, ...rows, '</svg>'].join('\n')}\n`
}

/** Groups results by id and rival, in order of first occurrence. @param {readonly Compared[]} results */
function groups(results) {
  /** @type {Map<string, Compared[]>} */
  const lines = new Map()
  for (const result of results) {
    const key = `${result.id} ${result.name}`
    lines.set(key, [...(lines.get(key) ?? []), result])
  }
  return [...lines.values()]
}

// @ts-check
// Draws times as bars, as plain SVG for light and dark pages.

const WIDTH = 640
const LEFT = 190
const LINE = 30
const TOP = 42
/** The longest bar, with place for its label behind it. */
const BAR = WIDTH - LEFT - 80
const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: bold }
.page { fill: #fff }
.without { fill: #818b98 }
.cold { fill: #54aeff }
.warm { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .page { fill: #0d1117 }
  .without { fill: #656c76 }
  .cold { fill: #1f6feb }
  .warm { fill: #3fb950 }
}
`

/** A time in seconds: `way` is its colour. @typedef {{ way: 'without' | 'cold' | 'warm', name: string, seconds: number }} Bar */

/** @param {string} title @param {readonly Bar[]} times */
export function bars(title, times) {
  const max = Math.max(...times.map(({ seconds }) => seconds))
  const rows = times.map(({ way, name, seconds }, index) => {
    const y = TOP + index * LINE
    const width = Math.max(1, (seconds / max) * BAR).toFixed(1)
    const value = seconds.toPrecision(seconds < 10 ? 2 : 3)
    return [
      `<text x="${LEFT - 12}" y="${y + 15}" text-anchor="end">${name}</text>`,
      `<rect class="${way}" x="${LEFT}" y="${y}" width="${width}" height="${LINE - 8}" rx="3"/>`,
      `<text x="${LEFT + Number(width) + 8}" y="${y + 15}">${value} s</text>`,
    ].join('')
  })
  const height = TOP + times.length * LINE + 6
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${title}</title><style>${STYLE}</style>`,
    `<rect class="page" width="${WIDTH}" height="${height}"/>`,
    `<text class="title" x="12" y="24">${title}</text>`,
    ...rows,
    '</svg>\n',
  ].join('\n')
}

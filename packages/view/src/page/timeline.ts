/** The history of a cache as bars, a build each, and as a table. */
import { scaleBand, scaleLinear } from 'd3-scale'
import type { BuildRecord } from 'varve'
import { count, date, details, duration, el, percent, section, size, svg, table } from './dom.ts'

/** Builds that the bars show. */
const BARS_MAX = 100

const HEIGHT_PX = 150
const LEFT_PX = 64
const BOTTOM_PX = 20
const TOP_PX = 8
const TICKS = 4

/** What bars show of a build. */
interface Chart {
  readonly title: string
  readonly valueOf: (build: BuildRecord) => number
  readonly format: (value: number) => string
  /** Undefined: that of the values. */
  readonly max?: number
}

const CHARTS: readonly Chart[] = [
  { title: 'Results from the cache', valueOf: rateOf, format: (value) => `${Math.round(value)} %`, max: 100 },
  { title: 'Work of the hits', valueOf: ({ savedMs }) => savedMs, format: duration },
]

/** The section; `builds` has the newest first. */
export function historySection(builds: readonly BuildRecord[]): HTMLElement {
  if (builds.length === 0) return section('history', 'History', el('p', {}, 'No builds are recorded.'))
  const shown = builds.slice(0, BARS_MAX).toReversed()
  const charts = el('div', { class: 'charts' })
  const draw = (): void => {
    const width = Math.floor(charts.clientWidth)
    if (width > 0) charts.replaceChildren(...CHARTS.map((chart) => drawBars(chart, shown, width)))
  }
  new ResizeObserver(draw).observe(charts)
  return section('history', 'History', charts, details('As a table', buildsTable(builds)))
}

function rateOf({ hits, misses }: BuildRecord): number {
  return (100 * hits) / (hits + misses || 1)
}

function drawBars({ title, valueOf, format, max }: Chart, builds: readonly BuildRecord[], width: number): HTMLElement {
  const x = scaleBand(
    builds.map((_, index) => index),
    [LEFT_PX, width],
  ).paddingInner(0.2)
  const y = scaleLinear([0, max ?? Math.max(1, ...builds.map(valueOf))], [HEIGHT_PX - BOTTOM_PX, TOP_PX]).nice(TICKS)
  const lines = y
    .ticks(TICKS)
    .flatMap((tick) => [
      svg('line', { class: 'grid', x1: LEFT_PX, x2: width, y1: y(tick), y2: y(tick) }),
      svg('text', { class: 'tick', x: LEFT_PX - 6, y: y(tick) + 4, 'text-anchor': 'end' }, format(tick)),
    ])
  const bars = builds.map((build, index) => {
    const value = valueOf(build)
    const hover = svg('title', {}, `${date(build.startMs)}, ${build.name}: ${format(value)}`)
    const barWidth = Math.max(1, Math.min(x.bandwidth(), 40))
    return svg(
      'rect',
      {
        class: 'bar',
        x: x(index) ?? 0,
        y: y(value),
        width: barWidth,
        height: Math.max(0, HEIGHT_PX - BOTTOM_PX - y(value)),
      },
      hover,
    )
  })
  const first = builds[0]
  const last = builds.at(-1)
  const ends =
    builds.length > 1
      ? [
          svg('text', { class: 'tick', x: LEFT_PX, y: HEIGHT_PX - 5 }, date(first?.startMs ?? 0)),
          svg('text', { class: 'tick', x: width, y: HEIGHT_PX - 5, 'text-anchor': 'end' }, date(last?.startMs ?? 0)),
        ]
      : []
  const label = `${title} of the last ${count(builds.length)} builds; the newest: ${last === undefined ? '-' : format(valueOf(last))}`
  const box = { viewBox: `0 0 ${width} ${HEIGHT_PX}`, width, height: HEIGHT_PX }
  const picture = svg('svg', { role: 'img', 'aria-label': label, ...box }, ...lines, ...bars, ...ends)
  return el('figure', {}, el('figcaption', {}, title), picture)
}

/** The namespaces that a record names, and the number of the others. */
function namespacesOf({ namespaces, namespaceCount }: BuildRecord): string {
  const others = namespaceCount - namespaces.length
  return [...namespaces, ...(others > 0 ? [`${count(others)} more`] : [])].join(', ') || '-'
}

function buildsTable(builds: readonly BuildRecord[]): HTMLElement {
  const head = [
    'started',
    'tool',
    'took',
    'from cache',
    'part',
    'work of the hits',
    'read',
    'written',
    'engine',
    'misses',
    'namespaces',
  ]
  const rows = builds.map((build) => [
    date(build.startMs),
    build.name,
    duration(build.durationMs),
    `${count(build.hits)} of ${count(build.hits + build.misses)}`,
    percent(build.hits, build.hits + build.misses),
    duration(build.savedMs),
    size(build.readBytes),
    size(build.writtenBytes),
    build.engine,
    Object.entries(build.reasons)
      .map(([reason, times]) => `${reason} (${count(times)})`)
      .join(', ') || '-',
    namespacesOf(build),
  ])
  return table('Builds, the newest first', head, rows, head.slice(2, 8))
}

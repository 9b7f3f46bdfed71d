/** The part of the page about what is in a cache: a treemap and the same as a table. */
import type { ContentsJson, TreeJson } from 'varve/cli-json'
import {
  button,
  type Child,
  count,
  counted,
  date,
  details,
  duration,
  el,
  percent,
  section,
  size,
  table,
} from './dom.ts'
import { drawTreemap, type Measure } from './treemap.ts'
import type { BuildRecord } from 'varve'

/** Opens the explanation of an id of a task. */
export type Explain = (id: string, task: string) => void

const TASK = 'task:'
const HEIGHT_MIN_PX = 280
const HEIGHT_MAX_PX = 460

const MEASURES: readonly (readonly [Measure, string])[] = [
  ['bytes', 'by size'],
  ['workMs', 'by time of work'],
]

/** The section; `explain` is undefined if nothing can be asked. */
export function contentsSection({ tree }: ContentsJson, explain: Explain | undefined): HTMLElement {
  const body = el('div')
  const show = (path: readonly TreeJson[], measure: Measure, focused?: string): void => {
    body.replaceChildren(...shown(path, measure, show, explain))
    fit(body)
    // What was clicked is gone, so the keyboard goes on from here.
    if (focused !== undefined) body.querySelector<HTMLElement>(focused)?.focus()
  }
  new ResizeObserver(() => fit(body)).observe(body)
  show([tree], 'bytes')
  return section('contents', 'Contents', body)
}

/** Draws the treemap again in the width that it has now. */
const drawings: WeakMap<Element, (width: number) => HTMLElement> = new WeakMap()

function fit(body: HTMLElement): void {
  const box = body.querySelector('.map')
  const width = Math.floor(body.clientWidth)
  if (box === null || width === 0 || Number(box.getAttribute('data-width')) === width) return
  box.setAttribute('data-width', String(width))
  const made = drawings.get(box)?.(width)
  if (made !== undefined) box.replaceChildren(made)
}

/** Shows the end of a path; `focused` selects what then has the focus. */
type Show = (path: readonly TreeJson[], measure: Measure, focused?: string) => void

const STEP = '[aria-current]'
const PRESSED = "[aria-pressed='true']"

function shown(path: readonly TreeJson[], measure: Measure, show: Show, explain: Explain | undefined): Child[] {
  const node = path.at(-1) ?? { name: '', entries: 0, bytes: 0, workMs: 0 }
  const actionOf = (part: TreeJson): (() => void) | undefined => {
    if (part.parts !== undefined) return () => show([...path, part], measure, STEP)
    const group = path[1]?.name ?? ''
    if (explain === undefined || part.name === null || path.length < 3 || !group.startsWith(TASK)) return undefined
    const { name } = part
    return () => explain(name, group.slice(TASK.length))
  }
  const box = el('div', { class: 'map' })
  drawings.set(box, (width) => {
    const height = Math.min(Math.max(width / 2, HEIGHT_MIN_PX), HEIGHT_MAX_PX)
    return drawTreemap({ node, measure, nameOf, valueOf: (part) => valueOf(part, measure), actionOf }, width, height)
  })
  const isEmpty = node[measure] === 0
  const steps = path.map((each, index) =>
    el(
      'li',
      {},
      stepOf(path, index, each, () => show(path.slice(0, index + 1), measure, STEP)),
    ),
  )
  return [
    el(
      'p',
      { class: 'controls' },
      ...MEASURES.map(([each, text]) =>
        button({ 'aria-pressed': String(each === measure) }, () => show(path, each, PRESSED), text),
      ),
    ),
    el('nav', { 'aria-label': 'Path' }, el('ol', { class: 'path' }, ...steps)),
    isEmpty ? el('p', {}, measure === 'bytes' ? 'There are no entries.' : 'No stored result has a known cost.') : box,
    details('As a table', partsTable(node, measure, actionOf)),
  ]
}

function stepOf(path: readonly TreeJson[], index: number, node: TreeJson, open: () => void): Child {
  const name = index === 0 ? 'All' : nameOf(node)
  return index === path.length - 1
    ? el('span', { 'aria-current': 'page', tabindex: '-1' }, name)
    : button({ class: 'link' }, open, name)
}

function partsTable(
  node: TreeJson,
  measure: Measure,
  actionOf: (part: TreeJson) => (() => void) | undefined,
): HTMLElement {
  const head = ['name', 'entries', 'keys and values', 'time of work', 'part']
  const rows = (node.parts ?? [])
    .toSorted((one, other) => other[measure] - one[measure])
    .map((part) => {
      const action = actionOf(part)
      const name = action === undefined ? nameOf(part) : button({ class: 'link' }, action, nameOf(part))
      return [
        name,
        counted(part.entries, 'entry', 'entries'),
        size(part.bytes),
        duration(part.workMs),
        percent(part[measure], node[measure]),
      ]
    })
  return table('Parts', head, rows, head.slice(1))
}

function nameOf({ name, title }: TreeJson): string {
  return title ?? name ?? 'others'
}

function valueOf(part: TreeJson, measure: Measure): string {
  return measure === 'bytes' ? size(part.bytes) : duration(part.workMs)
}

/** The section; `explain` is undefined if nothing can be asked. */
export function missesSection({ made }: ContentsJson, build: BuildRecord | undefined, explain: Explain): HTMLElement {
  const title = 'Misses of the last build'
  if (build === undefined) return section('misses', title, el('p', {}, 'No builds are recorded.'))
  const recorded = Object.entries(build.reasons).map(([reason, times]) => [reason, count(times)])
  const groups = made.reasons.map(({ reason, count: results, workMs, results: listed }) => {
    const rows = listed.map(({ id, task, tool = task, path = id, workMs: cost, differences }) => [
      button({ class: 'link' }, () => explain(id, task), path),
      tool,
      duration(cost),
      differences.map(({ kind, name }) => `${kind} ${name}`).join(', ') || '-',
    ])
    const list = table(`The costliest of ${counted(results, 'result')}`, ['id', 'task', 'took', 'what differs'], rows, [
      'took',
    ])
    return details(`${reason}: ${counted(results, 'result')}, ${duration(workMs)}`, list)
  })
  return section(
    'misses',
    title,
    el(
      'p',
      {},
      `${build.name}, ${date(build.startMs)}: ${counted(build.misses, 'miss', 'misses')}, ${counted(build.hits, 'hit')}.`,
    ),
    recorded.length === 0 ? '' : table('Reasons that the build recorded', ['reason', 'misses'], recorded, ['misses']),
    groups.length === 0
      ? el('p', {}, 'No result of a task was made in this build.')
      : el('h3', {}, 'Results of tasks that it made'),
    ...groups,
  )
}

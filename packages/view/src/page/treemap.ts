/** A treemap of two levels. Each part of the shown node is a button or a link of the page; what is in it is decoration. */
import { hierarchy, treemap, type HierarchyRectangularNode } from 'd3-hierarchy'
import type { TreeJson } from 'varve/cli-json'
import { button, el } from './dom.ts'

/** How large parts are. */
export type Measure = 'bytes' | 'workMs'

/** What the treemap needs of its surroundings. */
export interface TreemapParts {
  readonly node: TreeJson
  readonly measure: Measure
  readonly nameOf: (part: TreeJson) => string
  readonly valueOf: (part: TreeJson) => string
  /** What a click on a part does; undefined if it does nothing. */
  readonly actionOf: (part: TreeJson) => (() => void) | undefined
}

interface Datum {
  readonly part: TreeJson
  readonly parts?: readonly Datum[] | undefined
}

type Cell = HierarchyRectangularNode<Datum>

const COLOURS = 6
const HEAD_PX = 22
const LABEL_WIDTH_PX = 48
const LABEL_HEIGHT_PX = 18
const CELL_PX = 3
/** A cell of this size also has its value. */
const VALUE_WIDTH_PX = 96
const VALUE_HEIGHT_PX = 44

/** The treemap in a box of this size. */
export function drawTreemap(parts: TreemapParts, width: number, height: number): HTMLElement {
  const { node, measure } = parts
  const data: Datum = {
    part: node,
    parts: node.parts?.map((part) => ({ part, parts: part.parts?.map((inner) => ({ part: inner })) })),
  }
  const root = hierarchy(data, ({ parts: below }) => below)
    .sum(({ part, parts: below }) => (below === undefined ? part[measure] : 0))
    .sort((one, other) => (other.value ?? 0) - (one.value ?? 0))
  const laid = treemap<Datum>()
    .size([width, height])
    .paddingInner(2)
    .paddingTop(({ depth }) => (depth === 1 ? HEAD_PX : 0))
    .round(true)(root)
  const cells = (laid.children ?? [])
    .filter(isLarge)
    .map((cell, index) => el('li', {}, drawPart(parts, cell, index % COLOURS)))
  const made = el('ul', { class: 'treemap' }, ...cells)
  made.style.height = `${height}px`
  return made
}

function drawPart({ nameOf, valueOf, actionOf }: TreemapParts, cell: Cell, colour: number): HTMLElement {
  const { part } = cell.data
  const name = nameOf(part)
  const value = valueOf(part)
  const inner = (cell.children ?? []).filter(isLarge).map((child, index) => {
    const colours = `inner colour-${index % COLOURS}`
    const texts = fits(child) ? [nameOf(child.data.part)] : []
    const values = hasRoom(child) ? [el('span', { class: 'value' }, valueOf(child.data.part))] : []
    return placed(el('span', { class: colours, 'aria-hidden': 'true' }, ...texts, ...values), child, cell)
  })
  const text = `${name}: ${value}`
  const label = fits(cell) ? [el('span', { class: 'label' }, text)] : []
  const attributes = {
    class: inner.length === 0 ? `part colour-${colour}` : 'part',
    title: text,
    ...(fits(cell) ? {} : { 'aria-label': text }),
  }
  const action = actionOf(part)
  const made =
    action === undefined
      ? el('div', { ...attributes, role: 'img', 'aria-label': text }, ...label, ...inner)
      : button(attributes, action, ...label, ...inner)
  return placed(made, cell)
}

/** Puts an element at its cell, relative to the cell that contains it. */
function placed<Made extends HTMLElement>(made: Made, { x0, y0, x1, y1 }: Cell, around?: Cell): Made {
  made.style.left = `${x0 - (around?.x0 ?? 0)}px`
  made.style.top = `${y0 - (around?.y0 ?? 0)}px`
  made.style.width = `${x1 - x0}px`
  made.style.height = `${y1 - y0}px`
  return made
}

function isLarge({ x0, y0, x1, y1 }: Cell): boolean {
  return x1 - x0 >= CELL_PX && y1 - y0 >= CELL_PX
}

function fits({ x0, y0, x1, y1 }: Cell): boolean {
  return x1 - x0 >= LABEL_WIDTH_PX && y1 - y0 >= LABEL_HEIGHT_PX
}

function hasRoom({ x0, y0, x1, y1 }: Cell): boolean {
  return x1 - x0 >= VALUE_WIDTH_PX && y1 - y0 >= VALUE_HEIGHT_PX
}

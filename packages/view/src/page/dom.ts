/**
 * Elements, tables and formatted numbers of the page. All texts, also those from a cache, become text nodes; nothing is parsed as HTML.
 */

/** An element, or a text. */
export type Child = Node | string

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Surrogate}\p{Zl}\p{Zp}]/gu
const SVG = 'http://www.w3.org/2000/svg'

/** A text whose control characters and marks of direction are visible. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => String.raw`\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children)
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS(SVG, tag), attributes, children)
}

/** A button with what a click does. */
export function button(
  attributes: Readonly<Record<string, string>>,
  click: () => void,
  ...children: readonly Child[]
): HTMLButtonElement {
  const made = el('button', { type: 'button', ...attributes }, ...children)
  made.addEventListener('click', click)
  return made
}

/** A part of the page with its heading. */
export function section(id: string, title: string, ...children: readonly Child[]): HTMLElement {
  return el('section', { id, 'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title` }, title), ...children)
}

function filled<Made extends Element>(
  made: Made,
  attributes: Readonly<Record<string, string | number>>,
  children: readonly Child[],
): Made {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, visible(String(value)))
  made.append(...children.map((child) => (typeof child === 'string' ? visible(child) : child)))
  return made
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB']
const SECOND_MS = 1000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** '1,234'. */
export function count(value: number): string {
  return value.toLocaleString('en')
}

/** '1 entry', '1,234 entries'. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** '1.5 MiB'. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length)
  return `${rounded(bytes / 1024 ** power)} ${UNITS[power - 1]}`
}

/** '340 ms', '14.2 s', '3 min', '1.5 h'. */
export function duration(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`
  if (ms < MINUTE_MS) return `${rounded(ms / SECOND_MS)} s`
  return ms < HOUR_MS ? `${rounded(ms / MINUTE_MS)} min` : `${rounded(ms / HOUR_MS)} h`
}

/** Date and time; '-' for 0, unknown. */
export function date(timeMs: number): string {
  return timeMs === 0 ? '-' : new Date(timeMs).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
}

/** '98.5 %'; '-' of nothing. */
export function percent(part: number, all: number): string {
  return all === 0 ? '-' : `${rounded((100 * part) / all)} %`
}

function rounded(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 })
}

/** Rows that one table shows. */
const ROWS_MAX = 1000

/** A table; the cells of columns named in `right` are numbers. `caption` is what it lists. */
export function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly Child[])[],
  right: readonly string[] = [],
): HTMLElement {
  const align = head.map((name): Readonly<Record<string, string>> => (right.includes(name) ? { class: 'number' } : {}))
  const body = rows.slice(0, ROWS_MAX).map((row) =>
    el(
      'tr',
      {},
      ...row.map((cell, index) => {
        return index === 0 ? el('th', { scope: 'row', ...align[index] }, cell) : el('td', { ...align[index] }, cell)
      }),
    ),
  )
  const heads = head.map((name, index) => el('th', { scope: 'col', ...align[index] }, name))
  const made = el(
    'table',
    {},
    el('caption', {}, caption),
    el('thead', {}, el('tr', {}, ...heads)),
    el('tbody', {}, ...body),
  )
  const more = rows.length - ROWS_MAX
  // A wide table scrolls, so the keyboard has to reach it.
  const scrolled = el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': caption }, made)
  return more > 0 ? el('div', {}, scrolled, el('p', {}, `and ${count(more)} more`)) : scrolled
}

/** Something that is shown on request. */
export function details(summary: string, ...children: readonly Child[]): HTMLDetailsElement {
  return el('details', {}, el('summary', {}, summary), ...children)
}

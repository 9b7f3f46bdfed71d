/** Tables whose first column names the row. */
import { type Child, el } from './dom.ts'
import { count } from './format.ts'

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

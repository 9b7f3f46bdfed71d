/** A dialog with what `varve why` reports of an id: its results, what they depend on, and what differs now. */
import type { DependencyJson, RecordJson, VariantJson } from 'varve/cli-json'
import { button, type Child, counted, date, details, el, table } from './dom.ts'

/** Asks for the records of an id. */
export type Ask = (id: string, task: string | undefined) => Promise<readonly RecordJson[]>

/** Opens the dialog. A report has the records of some results only. */
export async function openExplanation(ask: Ask, id: string, task: string | undefined): Promise<void> {
  const body = el('div', { role: 'status' }, 'Reading …')
  const close = button({}, () => dialog.close(), 'Close')
  const dialog = el(
    'dialog',
    { 'aria-labelledby': 'explained' },
    el('h2', { id: 'explained' }, `Why ${id}`),
    body,
    close,
  )
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  try {
    const records = await ask(id, task)
    body.replaceChildren(...records.map(recordOf))
    if (records.length === 0) body.append('Nothing is stored for this id, or this page does not have it.')
  } catch (error) {
    body.replaceChildren(el('p', {}, error instanceof Error ? error.message : String(error)))
  }
}

function recordOf({ task, variants, between }: RecordJson): HTMLElement {
  const pair =
    between.length === 0 ? [] : [el('h4', {}, 'How the two newest results differ'), differencesTable(between)]
  return el(
    'article',
    {},
    el('h3', {}, `Task ${task}: ${counted(variants.length, 'result')}`),
    ...variants.map(variantOf),
    ...pair,
  )
}

function variantOf(variant: VariantJson): HTMLElement {
  const { timeMs, holds, isLost, differences, inputs, env, files } = variant
  const verdict = holds
    ? 'a hit, if its inputs are the same'
    : isLost
      ? 'a miss: its result is gone'
      : 'a miss: something differs now'
  const rows: Child[][] = []
  const kinds: readonly (readonly [string, readonly DependencyJson[]])[] = [
    ['input', inputs],
    ['variable', env],
    ['file', files],
  ]
  for (const [kind, found] of kinds) for (const { name, digest } of found) rows.push([name, kind, digest])
  const dependencies = table('What the result depends on', ['name', 'what', 'digest'], rows)
  return el(
    'div',
    {},
    el('p', {}, `${date(timeMs)}: ${verdict}`),
    differences.length === 0 ? '' : differencesTable(differences),
    rows.length === 0 ? '' : details(`Depends on ${counted(rows.length, 'thing')}`, dependencies),
  )
}

function differencesTable(differences: VariantJson['differences']): HTMLElement {
  const rows = differences.map(({ kind, name, before, after }) => [name, kind, before ?? '-', after ?? '-'])
  return table('What differs', ['name', 'what', 'before', 'after'], rows)
}

/** The parts of the page about layers, the remote, and what is wrong, and the dialog that explains one id. */
import type { Damage, VerifyReport } from 'varve'
import type { ViewCacheJson, ViewJson, DependencyJson, RecordJson, VariantJson } from 'varve/cli-json'
import { button, count, counted, el, section, size, table, type Child, date, details } from './dom.ts'
import type { PageSource } from './source.ts'

export function layersSection({ remote }: ViewJson, { stats: { layers } }: ViewCacheJson): HTMLElement {
  const store =
    remote === null
      ? 'No remote is set.'
      : `Remote ${remote.store}${remote.offline ? ', offline (VARVE_OFFLINE)' : ''}.`
  const head = ['path', 'state', 'id', 'entries', 'deletes', 'size']
  const rows = layers.map(({ path, problem, id, entries, deletes, bytes }) => {
    return [path, problem ?? 'open', id, count(entries), count(deletes), size(bytes)]
  })
  const list =
    rows.length === 0
      ? el('p', {}, 'There are no layers below this cache.')
      : table('Layers, the newest first', head, rows, head.slice(3))
  return section('layers', 'Layers and remote', el('p', {}, store), list)
}

export function healthSection({ findings }: ViewJson, cache: ViewCacheJson, source: PageSource): HTMLElement {
  const rows = findings.map(({ what, found, advice, note = advice }) => {
    const cell = el('div', { class: 'found' }, found, ...(note === undefined ? [] : [el('p', {}, note)]))
    return [what, advice === undefined ? 'ok' : 'to fix', cell]
  })
  const verified = el('div', { role: 'status' }, ...(cache.verify === undefined ? [] : verdictOf(cache.verify)))
  const verify = async (): Promise<void> => {
    try {
      const report = await source.verify(cache, (part) =>
        verified.replaceChildren(`Reading every byte: ${Math.round(100 * part)} %`),
      )
      verified.replaceChildren(...(report === undefined ? [] : verdictOf(report)))
    } catch (error) {
      verified.replaceChildren(error instanceof Error ? error.message : String(error))
    }
  }
  return section(
    'health',
    'Health',
    table('What varve doctor finds', ['what', 'state', 'found'], rows),
    ...(cache.damage.length === 0 ? [] : [damageTable('Damage detected so far', cache.damage)]),
    source.isLive
      ? el(
          'p',
          {},
          button({}, () => void verify(), 'Verify every byte'),
        )
      : '',
    verified,
  )
}

function verdictOf({ sound, files, bytes, entries, damage }: VerifyReport): HTMLElement[] {
  const verdict = sound ? 'Sound' : `${counted(damage.length, 'place')} damaged`
  const text = el(
    'p',
    {},
    `${verdict}: ${counted(files, 'file')}, ${size(bytes)}, ${counted(entries, 'entry', 'entries')}.`,
  )
  return damage.length === 0 ? [text] : [text, damageTable('Damaged places; their entries are misses', damage)]
}

function damageTable(caption: string, damage: readonly Damage[]): HTMLElement {
  const rows = damage.map(({ file, offset, what, namespace }) => [file, count(offset), what, namespace ?? '-'])
  return table(caption, ['file', 'byte', 'what', 'namespace'], rows, ['byte'])
}

// The dialog has what `varve why` reports of an id: its results, what they depend on, and what differs now.

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

function recordOf({ task, tool = `Task ${task}`, variants, between }: RecordJson): HTMLElement {
  const pair =
    between.length === 0 ? [] : [el('h4', {}, 'How the two newest results differ'), differencesTable(between)]
  return el(
    'article',
    {},
    el('h3', {}, `${tool}: ${counted(variants.length, 'result')}`),
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

/** The parts of the page about layers, the remote, and what is wrong. */
import type { Damage, VerifyReport } from 'varve'
import type { ViewCacheJson, ViewJson } from 'varve/cli-json'
import { button, count, counted, el, section, size, table } from './dom.ts'
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

/** Damaged places as a table for people; texts from the cache are escaped. */
import type { Damage } from '../../reports.ts'
import { escapeText } from './escape.ts'
import { counted } from './output.ts'
import { table } from './table.ts'

const HEAD = ['file', 'byte', 'what', 'namespace', 'keys']

/** File, byte, what, namespace, keys; empty without places. */
export function damageTable(places: readonly Damage[]): string {
  if (places.length === 0) return ''
  const rows = places.map(({ file, offset, what, namespace, keys }) => [
    escapeText(file),
    String(offset),
    escapeText(what),
    namespace === null ? '' : escapeText(namespace),
    keysText(keys),
  ])
  return table(HEAD, rows, ['byte'])
}

/** '3 entries: first ... last (hashes 0000abcd-0000ffff)'. */
function keysText(keys: NonNullable<Damage['keys']> | null): string {
  if (keys === null) return ''
  const { firstHash, lastHash, entries, first, last } = keys
  const hex = (hash: number): string => hash.toString(16).padStart(8, '0')
  const count = entries === null ? 'some entries' : counted(entries, 'entry', 'entries')
  const names = first === null || last === null ? '' : `: ${[...new Set([first, last])].map(short).join(' ... ')}`
  return `${count}${names} (hashes ${hex(firstHash)}-${hex(lastHash)})`
}

function short(key: string): string {
  return escapeText(key.length > 60 ? `${key.slice(0, 60)}...` : key)
}

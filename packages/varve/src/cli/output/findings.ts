/** Findings for people: a table, then what to do about each. */
import type { FindingJson } from '../../cli-json.ts'
import { escapeText } from './escape.ts'
import { table } from './table.ts'

export function findingsText(findings: readonly FindingJson[]): string {
  const rows = findings.map(({ what, found, advice }) => [advice === undefined ? 'ok' : '!', what, escapeText(found)])
  const remarks = findings.map(({ what, advice, note = advice }) =>
    note === undefined ? '' : `${what}: ${escapeText(note)}\n`,
  )
  return `${table(['', 'what', 'found'], rows)}${remarks.join('')}`
}

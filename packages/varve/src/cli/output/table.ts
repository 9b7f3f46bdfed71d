/**
 * Tables that fit the terminal, and colours if the reader wants them. If the columns exceed the width, texts take several
 * lines in their column, and a first cell, which names the row, stands above the others. If that is not enough, each row
 * becomes a paragraph with a line for each cell:
 *
 *   namespace  entries  newest        namespace: modules
 *   modules      1,998      3h        entries:   1,998
 *   outputs of webpack                newest:    3h
 *                    2      3h
 */
import { styleText } from 'node:util'
import type { FindingJson } from '../../cli-json.ts'
import type { Damage } from '../../reports.ts'
import { escapeText } from './escape.ts'
import { counted } from './output.ts'

/** Between two columns. */
const GAP = '  '

/** The fewest columns of the terminal that a text has in a table. */
const TEXT_MIN = 12

/** The columns of a terminal; of another output those that COLUMNS names; undefined if the width is not limited. */
export function widthOf({ columns }: { readonly columns?: number }): number | undefined {
  const given = Number(process.env['COLUMNS'])
  if (columns !== undefined && columns > 0) return columns // 0: a terminal of unknown size
  return Number.isSafeInteger(given) && given > 0 ? given : undefined
}

/** How a text looks; each is a format of `util.styleText`. */
export type Look = 'bold' | 'dim' | 'green' | 'red' | 'yellow'

/** Text for `stream` in this look, if that is a terminal, and NO_COLOR and FORCE_COLOR do not decide otherwise. */
export function paint(look: Look, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  // What Node.js needs for colours takes 2 ms to load.
  return stream.isTTY || process.env['FORCE_COLOR'] !== undefined ? styleText(look, text, { stream }) : text
}

/** Characters that take two columns of a terminal, and marks that take none. Bundled tables of Unicode would cost each start 2 ms. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/gu
const MARK = /\p{Mark}/gu
const ASCII = /^[ -~]*$/

/** The columns of a terminal that a text without control characters takes. */
export function columnsOf(text: string): number {
  if (ASCII.test(text)) return text.length
  const visible = text.replace(MARK, '')
  return [...visible].length + (visible.match(WIDE)?.length ?? 0)
}

/** A table, its cells already escaped; columns named in `right` have numbers: they are aligned to the right and stay whole. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
  width: number | undefined = widthOf(process.stdout),
): string {
  const isText = head.map((name) => !right.includes(name))
  const widths = fitted(
    head.map((name, index) => Math.max(columnsOf(name), ...rows.map((row) => columnsOf(row[index] ?? '')))),
    isText,
    width,
  )
  if (widths === undefined) return rows.map((row) => paragraph(head, row, width ?? 0)).join('\n')
  const textOf = (cells: readonly string[]): string => {
    const parts = widths.map((columns, index) => wrapped(cells[index] ?? '', columns))
    const lines = Array.from({ length: Math.max(...parts.map(({ length }) => length)) }, (_, line) => {
      return widths
        .map((columns, index) => pad(parts[index]?.[line] ?? '', columns, isText[index] === true))
        .join(GAP)
        .trimEnd()
    })
    return `${lines.join('\n')}\n`
  }
  const rowOf = (cells: readonly string[]): string => {
    const [name = '', ...others] = cells
    const isLong = width !== undefined && isText[0] === true && columnsOf(name) > (widths[0] ?? 0)
    return isLong ? `${wrapped(name, width).join('\n')}\n${textOf(['', ...others])}` : textOf(cells)
  }
  return `${paint('bold', textOf(head).trimEnd())}\n${rows.map(rowOf).join('')}`
}

/** The widths with those of texts reduced, the widest first; undefined if the table does not fit even then. */
function fitted(
  natural: readonly number[],
  isText: readonly boolean[],
  width: number | undefined,
): readonly number[] | undefined {
  const widths = [...natural]
  const over = (): number =>
    widths.reduce((sum, columns) => sum + columns, GAP.length * (widths.length - 1)) -
    (width ?? Number.POSITIVE_INFINITY)
  for (let excess = over(); excess > 0; excess = over()) {
    const texts = widths.map((columns, index) => (isText[index] === true ? columns : 0))
    const widest = Math.max(...texts)
    if (widest <= TEXT_MIN) return undefined
    // Down to the next shorter text, which is then as wide.
    const next = Math.max(TEXT_MIN, ...texts.filter((columns) => columns < widest))
    widths[texts.indexOf(widest)] = Math.max(next, widest - excess)
  }
  return widths
}

/** A row as a name and a cell on each line. */
function paragraph(head: readonly string[], row: readonly string[], width: number): string {
  const names = Math.max(...head.map((name) => name.length)) + 1
  const lines = head.map((name, index) => {
    const rest = wrapped(row[index] ?? '', Math.max(1, width - names - 1)).join(`\n${' '.repeat(names + 1)}`)
    return `${paint('bold', `${name}:`.padEnd(names))} ${rest}`.trimEnd()
  })
  return `${lines.join('\n')}\n`
}

/** The lines of a text in this many columns, divided at spaces; a longer word is divided anywhere. */
export function wrapped(text: string, columns: number): readonly string[] {
  if (columnsOf(text) <= columns) return [text]
  const lines: string[] = []
  let line = ''
  for (const word of text.match(/\S+\s*/g) ?? []) {
    if (line !== '' && columnsOf(line + word.trimEnd()) > columns) {
      lines.push(line.trimEnd())
      line = ''
    }
    for (const character of word) {
      if (columnsOf(line + character) > columns && character.trim() !== '') {
        lines.push(line)
        line = ''
      }
      line += character
    }
  }
  return [...lines, line.trimEnd()]
}

/** The start of a text and an ellipsis, in this many columns. */
export function cut(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text
  let kept = ''
  for (const character of text) {
    if (columnsOf(kept + character) >= columns) break
    kept += character
  }
  return `${kept}…`
}

function pad(text: string, columns: number, isLeft: boolean): string {
  const space = ' '.repeat(Math.max(0, columns - columnsOf(text)))
  return isLeft ? text + space : space + text
}

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

export function findingsText(findings: readonly FindingJson[]): string {
  const rows = findings.map(({ what, found, advice }) => [advice === undefined ? 'ok' : '!', what, escapeText(found)])
  const remarks = findings.map(({ what, advice, note = advice }) =>
    note === undefined ? '' : `${what}: ${escapeText(note)}\n`,
  )
  return `${table(['', 'what', 'found'], rows)}${remarks.join('')}`
}

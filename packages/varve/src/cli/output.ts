/**
 * Where the commands write: results to standard output, everything else to standard error. With `--json` standard
 * output is one JSON value and nothing else; `cli-json.ts` has its types.
 */
import { once } from 'node:events'
import Table from 'cli-table3'
import prettyBytes from 'pretty-bytes'
import prettyMs from 'pretty-ms'
import { type CacheReport, CLI_JSON_FORMAT, type CliJson, type EachReports } from '../cli-json.ts'

/** Writes to standard output and waits for a slow reader. */
export async function write(chunk: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
}

/** Whether the reader of standard output has closed it, as `head` does once it has enough. */
export function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}

/** Characters that JSON allows in texts and a terminal interprets or hides: DEL, C1 controls, direction marks, separators. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu

/** A value as JSON that is safe to print to a terminal. */
function jsonText(value: unknown, indent?: number): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, undefined, indent).replace(UNSAFE_IN_JSON, (character) => character.split('').map(escape).join(''))
}

/** Writes what a command reports with `--json`. */
export async function writeJson<Name extends keyof CliJson>(_command: Name, value: Omit<CliJson[Name], 'format'>): Promise<void> {
  await write(`${jsonText({ format: CLI_JSON_FORMAT, ...value }, 2)}\n`)
}

/** Writes the same report of each cache. */
export async function writeCaches<Name extends keyof EachReports>(_command: Name, caches: readonly CacheReport<EachReports[Name]>[]): Promise<void> {
  await write(`${jsonText({ format: CLI_JSON_FORMAT, caches }, 2)}\n`)
}

/** Writes a report that is one list, item by item, however many there are. */
export async function writeJsonList<Item>(field: string, items: Iterable<Item>): Promise<void> {
  await write(`{\n  "format": ${CLI_JSON_FORMAT},\n  "${field}": [`)
  let before = ''
  for (const item of items) {
    await write(`${before}\n    ${jsonText(item)}`)
    before = ','
  }
  await write(before === '' ? ']\n}\n' : '\n  ]\n}\n')
}

/** The columns of a terminal; of another output those that COLUMNS names; undefined if the width is not limited. */
export function widthOf({ columns }: { readonly columns?: number }): number | undefined {
  const given = Number(process.env['COLUMNS'])
  return columns ?? (Number.isSafeInteger(given) && given > 0 ? given : undefined)
}

/**
 * A table without colours, its cells already escaped; columns named in `right` are aligned to the right. The cells of the last
 * column are cut so that no line exceeds `width`.
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[], right: readonly string[] = [], width?: number): string {
  if (width !== undefined) rows = fitted(head, rows, width)
  const colAligns = head.map((name) => (right.includes(name) ? ('right' as const) : ('left' as const)))
  const made = new Table({ head: [...head], colAligns, style: { head: [], border: [], compact: true } })
  for (const row of rows) made.push([...row])
  return `${made.toString()}\n`
}

/** Characters between and around cells, and the fewest characters that the last column keeps. */
const CELL_EXTRA = 3
const LAST_CELL_MIN = 8

/** The rows with their last cells cut. */
function fitted(head: readonly string[], rows: readonly (readonly string[])[], width: number): readonly (readonly string[])[] {
  const widths = head.slice(0, -1).map((name, index) => Math.max(name.length, ...rows.map((row) => row[index]?.length ?? 0)))
  const used = widths.reduce((sum, cell) => sum + cell + CELL_EXTRA, CELL_EXTRA + 1)
  const left = Math.max(LAST_CELL_MIN, width - used)
  return rows.map((row) => [...row.slice(0, -1), cut(row.at(-1) ?? '', left)])
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}

/** A size for people: '1.5 MiB'. */
export function size(bytes: number): string {
  return prettyBytes(bytes, { binary: true })
}

/** How long ago `timeMs` (milliseconds since 1970) was, for people: '3d'; '-' for 0, unknown. */
export function age(timeMs: number, nowMs: number = Date.now()): string {
  return timeMs === 0 ? '-' : prettyMs(Math.max(0, nowMs - timeMs), { compact: true })
}

/** '1 entry', '2 entries'. */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

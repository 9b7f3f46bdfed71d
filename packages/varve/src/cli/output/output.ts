/** What commands write: texts, lists, JSON, sizes, ages and counts. */
import { once } from 'node:events'
import prettyMs from 'pretty-ms'
import { type CacheReport, CLI_JSON_FORMAT, type CliJson, type EachReports } from '../../cli-json.ts'
import { toVarveError, VarveError } from '../../errors.ts'
import { escapeText } from './escape.ts'
import type { SingleBar } from 'cli-progress'
import type { EngineControl } from '../../engine/engine.ts'

/** The error for a failed write: it names the path that the user gave, and the cause in the words of the system. */
export function cannotWrite(path: string, error: unknown): VarveError {
  const failure = toVarveError(error)
  const cause = failure.cause instanceof Error ? failure.cause : failure
  const code = 'code' in cause ? cause.code : undefined
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new VarveError('PERMISSION', `cannot write '${path}': ${cause.message}`, { cause })
  }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new VarveError('DISK_FULL', `cannot write '${path}': ${cause.message}`, { cause })
  const isOfSystem = typeof code === 'string' && 'syscall' in cause
  return isOfSystem || failure.code === 'INTERNAL'
    ? new VarveError('IO', `cannot write '${path}': ${cause.message}`, { cause })
    : failure
}

/** Writes to standard output and waits for a slow reader. */
export async function write(chunk: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
}

/** A line for files of other programs that a command has left in a cache; none without such files. */
export function foreignText(files: readonly string[]): string {
  const names = files.map(escapeText).join(', ')
  return files.length === 0 ? '' : `left as they are, because Varve did not write them: ${names}\n`
}

/** Characters that are collected before they are written: a call for each line costs more than all the rest. */
const CHUNK_LENGTH = 64 * 1024

/** Writes many pieces of text at the speed of the reader; `finish` changes each chunk of them. */
async function writeAll(pieces: Iterable<string>, finish: (chunk: string) => string = (chunk) => chunk): Promise<void> {
  let chunk = ''
  for (const piece of pieces) {
    chunk += piece
    if (chunk.length < CHUNK_LENGTH) continue
    await write(finish(chunk))
    chunk = ''
  }
  await write(finish(chunk))
}

/** Writes a line for each item, however many there are. Without any, standard error has `none`: a pipe gets items only. */
export async function writeLines<Item>(
  items: Iterable<Item>,
  lineOf: (item: Item) => string,
  none: string,
): Promise<void> {
  let isEmpty = true
  await writeAll(lines())
  if (isEmpty) process.stderr.write(`varve: ${none}\n`)

  function* lines(): Generator<string> {
    for (const item of items) {
      isEmpty = false
      yield `${lineOf(item)}\n`
    }
  }
}

/** Characters that JSON allows in texts and a terminal interprets or hides: DEL, C1 controls, direction marks, separators. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu

const PLAIN_JSON = /^[\n -~]*$/

/** JSON that is safe to print to a terminal. */
export function printable(json: string): string {
  if (PLAIN_JSON.test(json)) return json // most of it is, and the other test takes longer than everything else
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return json.replace(UNSAFE_IN_JSON, (character) => character.split('').map(escape).join(''))
}

/** A value as JSON that is safe to print to a terminal. */
function jsonText(value: unknown): string {
  return printable(JSON.stringify(value, undefined, 2))
}

/** Writes what a command reports with `--json`. */
export async function writeJson<Name extends keyof CliJson>(
  _command: Name,
  value: Omit<CliJson[Name], 'format'>,
): Promise<void> {
  await write(`${jsonText({ format: CLI_JSON_FORMAT, ...value })}\n`)
}

/** Writes the same report of each cache. */
export async function writeCaches<Name extends keyof EachReports>(
  _command: Name,
  caches: readonly CacheReport<EachReports[Name]>[],
): Promise<void> {
  await write(`${jsonText({ format: CLI_JSON_FORMAT, caches })}\n`)
}

/** Writes a report that is one list, item by item, however many there are. */
export async function writeJsonList<Item>(field: string, items: Iterable<Item>): Promise<void> {
  await writeAll(pieces(), printable)

  function* pieces(): Generator<string> {
    yield `{\n  "format": ${CLI_JSON_FORMAT},\n  "${field}": [`
    let before = ''
    for (const item of items) {
      yield `${before}\n    ${JSON.stringify(item)}`
      before = ','
    }
    yield before === '' ? ']\n}\n' : '\n  ]\n}\n'
  }
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** A size for people: '1.5 MiB'. */
export function size(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1)
  const value = bytes / 1024 ** power
  return `${value < 1000 ? Number(value.toPrecision(3)) : Math.round(value)} ${UNITS[power] ?? ''}`
}

/** How long ago `timeMs` (milliseconds since 1970) was, for people: '3d'; '-' for 0, unknown. */
export function age(timeMs: number, nowMs: number = Date.now()): string {
  return timeMs === 0 ? '-' : prettyMs(Math.max(0, nowMs - timeMs), { compact: true })
}

/** A time for people: '14.2 s'. */
export function duration(ms: number): string {
  return ms < 999.5
    ? `${Math.round(ms)} ms`
    : ms < 10_000
      ? `${(ms / 1000).toFixed(1)} s`
      : `${grouped(Math.round(ms / 1000))} s`
}

/** '1,234,567'. `toLocaleString` would load the data of all languages, which takes longer than most commands. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** '1 entry', '2 entries'. */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`
}

/**
 * Runs `call` with a progress bar `title` if standard error is a terminal. The first Ctrl-C stops the call cleanly, a
 * second one ends the process.
 */
export function withProgress<T>(title: string, call: (control: EngineControl) => Promise<T>): Promise<T> {
  return withBar(title, size, call)
}

/** Shows a bar for a call that counts things, not bytes. */
export function withCount<T>(title: string, call: (control: EngineControl) => Promise<T>): Promise<T> {
  return withBar(title, String, call)
}

async function withBar<T>(
  title: string,
  format: (value: number) => string,
  call: (control: EngineControl) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const interrupt = (): void => stop.abort()
  process.once('SIGINT', interrupt)
  const bar = process.stderr.isTTY ? await makeBar(title, format) : undefined
  let isShown = false
  const onProgress = (done: number, total: number): void => {
    if (!isShown) bar?.start(total, done)
    isShown = true
    bar?.setTotal(total)
    bar?.update(done)
  }
  try {
    return await call({ signal: stop.signal, onProgress })
  } finally {
    bar?.stop()
    process.off('SIGINT', interrupt)
  }
}

async function makeBar(title: string, format: (value: number) => string): Promise<SingleBar> {
  const { SingleBar } = await import('cli-progress') // loaded for terminals only
  return new SingleBar({
    format: `${title} [{bar}] {percentage} % of {total}`,
    formatValue: (value, _options, type) => (type === 'total' ? format(value) : String(value)),
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  })
}

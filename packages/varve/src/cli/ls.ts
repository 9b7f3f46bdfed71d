/** Entries of a cache: `varve ls` lists keys in the order of their hashes, or sorted by size, age or use; `varve get` writes one value. */
import { type Command, Option } from 'commander'
import type { LsJson, LsTaskJson, LsSortJson } from '../cli-json.ts'
import type { EngineTop } from '../engine/engine.ts'
import type { TopItem } from '../reports.ts'
import type { Session } from '../session/session.ts'
import { RECORDS_PREFIX } from '../host/format.ts'
import { type Key, readKey, readExactText } from '../values/bytes.ts'
import { command, type CommonOptions } from './command.ts'
import {
  type Described,
  describedIn,
  subjectsOf,
  keyJson,
  keysOf,
  namespacesOf,
  type RawKey,
  wholeNumber,
  valueOf,
} from './open/entries.ts'
import { findCache, findReadable, inspect } from './open/folder.ts'
import type { IdRecord } from './open/tasks.ts'
import { escapeKey, escapeText, isPlain, unescapeKey, NEGATIVE } from './output/escape.ts'
import { age, counted, size, write, writeJson, writeJsonList, writeLines } from './output/output.ts'
import { table } from './output/table.ts'
import { VarveError } from '../errors.ts'

/** The orders of `--sort`, and those of the engine. */
const ORDERS = { size: 'largest', age: 'oldest', used: 'never-used' } as const satisfies Record<
  string,
  EngineTop['order']
>

type Order = keyof typeof ORDERS

const NOTES = `
--sort size: by value. age: by last use or write, the oldest first. used: entries that are known to be unused, the largest first.
An entry counts as used if it was read on a later day than it was written. The last such day is stored, for 90 days. '-' = not known.
The caches of plugins are listed by what they are about: modules and assets, sorted by path, and --sort size by their shares of the bytes.`

const DAY_MS = 24 * 60 * 60 * 1000

/** Days for which uses are stored. */
const USES_DAYS = 90

/** Entries without a known use among which those are searched that are known to be unused. */
const UNUSED_MAX = 10_000

interface LsOptions extends CommonOptions {
  readonly namespace?: string
  readonly long?: boolean
  readonly limit?: number
  readonly task?: string | true
  readonly sort?: Order
  readonly raw?: boolean
}

export const lsCommand: Command = command('ls', 'list what a cache has: modules and assets by path, otherwise keys')
  .option('--namespace <name>', 'only this namespace')
  .option('--task [name]', 'list the ids of this task, or of all tasks with their names, instead of keys')
  .addOption(
    new Option(
      '--sort <order>',
      'the entries with the largest values, the oldest last use, or no use at all, as a table',
    )
      .choices(Object.keys(ORDERS))
      .conflicts(['task', 'long']),
  )
  .option('--long', 'also print the namespace and size of each value, or the variants and age of each id')
  .option('--raw', 'list keys as they are stored, in the order of their hashes, as with --namespace')
  .option('--limit <count>', 'maximum number of lines (default: all; 10 with --sort)', wholeNumber)
  .addHelpText('after', NOTES)
  .action(runLs)

async function runLs(options: LsOptions): Promise<void> {
  if (options.task !== undefined) return listIds(options.task === true ? undefined : options.task, options)
  if (options.sort !== undefined) return listSorted(options.sort, options)
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    const namespaces = await namespacesOf(session, options.namespace)
    const limit = options.limit ?? Number.POSITIVE_INFINITY
    if (options.json === true) return writeJsonList('entries', jsonOf(firstOf(keysOf(session, namespaces), limit)))
    const isLong = options.long === true
    const described = await describedIn(session, isRaw(options))
    const listed = described.descriptions.length === 0 ? namespaces : described.others
    await writeLines(firstOf(lines(), limit), (line) => line, 'no entries')

    function* lines(): Generator<string> {
      for (const { title, kind, path, bytes } of subjectsOf(session, described, described.descriptions))
        yield `${isLong ? `${size(bytes).padStart(10)}  ${escapeText(title)}  ${kind}  ` : ''}${escapeKey(path)}`
      for (const { namespace, key, valueBytes } of keysOf(session, listed))
        yield `${isLong ? `${size(valueBytes).padStart(10)}  ${escapeText(namespace.name)}  ` : ''}${escapeKey(key)}`
    }
  })
}

/** Whether entries are listed as they are stored. */
function isRaw({ raw, namespace }: LsOptions): boolean {
  return raw === true || namespace !== undefined
}

async function listIds(only: string | undefined, options: LsOptions): Promise<void> {
  const { recordsOf, tasksOf } = await import('./open/tasks.ts') // with all of tasks, which a list of keys does not need
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    const limit = options.limit ?? Number.POSITIVE_INFINITY
    const records = recordsOf(session, await tasksOf(session, only))
    if (options.json === true) return writeJsonList('ids', idsJson(firstOf(records, limit)))
    const described = await describedIn(session, isRaw(options))
    const items = described.descriptions.length === 0 ? records : sorted(records, described)
    await writeLines(firstOf(items, limit), lineOf, 'no results of tasks')

    function lineOf({ task, id, variants }: IdRecord): string {
      const newestMs = Math.max(...variants.map(({ timeMs }) => timeMs))
      const count = counted(variants.length, 'variant').padStart(11)
      const long = options.long === true ? `${count}  ${age(newestMs).padStart(4)}  ` : ''
      const title = described.of(RECORDS_PREFIX + task)?.title ?? task
      return `${long}${only === undefined ? `${escapeText(title)}  ` : ''}${escapeKey(pathOf(id, task, described))}`
    }
  })
}

/** What an id is about, or the id. */
function pathOf(id: string, task: string, described: Described): string {
  return described.subjectOf(RECORDS_PREFIX + task, id)?.path ?? id
}

function sorted(records: Iterable<IdRecord>, described: Described): IdRecord[] {
  const byPath = Array.from(records, (record) => [pathOf(record.id, record.task, described), record] as const)
  return byPath.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, record]) => record)
}

function* idsJson(records: Iterable<IdRecord>): Generator<LsTaskJson['ids'][number]> {
  for (const { task, id, variants } of records) {
    yield { task, id, variants: variants.length, newestMs: Math.max(...variants.map(({ timeMs }) => timeMs)) }
  }
}

function* jsonOf(entries: Iterable<RawKey>): Generator<LsJson['entries'][number]> {
  for (const { namespace, key, valueBytes } of entries) {
    yield { namespace: namespace.name, version: namespace.version, ...keyJson(key), valueBytes }
  }
}

function* firstOf<T>(items: Iterable<T>, count: number): Generator<T> {
  let left = count
  if (left <= 0) return
  for (const item of items) {
    yield item
    left -= 1
    if (left <= 0) return
  }
}

async function listSorted(sort: Order, options: LsOptions): Promise<void> {
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    const { limit = 10, namespace } = options
    await namespacesOf(session, namespace) // an unknown name is an error
    const wanted = sort === 'used' ? Math.max(limit, UNUSED_MAX) : limit
    const request = { order: ORDERS[sort], limit: wanted, namespace: namespace ?? null }
    const described = await describedIn(session, options.json === true || isRaw(options))
    const found = await session.run((store) => store.top(request))
    if (options.json === true) return writeJson('ls --sort', { entries: found.slice(0, limit).map(itemJson) })
    const entries = (sort === 'used' ? found.filter(isKnownUnused) : found).slice(0, limit)
    if (sort === 'size' && described.descriptions.length > 0) return listLargest(session, described, limit)
    const rows = entries.map((entry) => [
      size(entry.valueBytes),
      lastUsed(entry),
      age(entry.writtenMs),
      escapeText(described.of(entry.namespace)?.title ?? entry.namespace),
      escapeKey(described.subjectOf(entry.namespace, keyOf(entry))?.path ?? keyOf(entry)),
    ])
    const head = ['value', 'last used', 'written', described.descriptions.length > 0 ? 'content' : 'namespace', 'key']
    const none = sort === 'used' ? 'no entry is known to be unused' : 'no entries'
    if (rows.length === 0) process.stderr.write(`varve: ${none}\n`)
    else await write(table(head, rows, head.slice(0, 3)))
  })
}

/** The subjects with the largest shares, and the largest entries that are about none. */
async function listLargest(session: Session, described: Described, limit: number): Promise<void> {
  const subjects = subjectsOf(session, described, described.descriptions)
  const largest: (readonly [bytes: number, content: string, kind: string, path: string])[] = subjects
    .toSorted((one, other) => other.bytes - one.bytes)
    .slice(0, limit)
    .map(({ bytes, title, kind, path }) => [bytes, escapeText(title), kind, escapeKey(path)])
  for (const { name } of described.others) {
    const request = { order: ORDERS.size, limit, namespace: name }
    for (const entry of await session.run((store) => store.top(request)))
      largest.push([entry.valueBytes, escapeText(entry.namespace), 'entry', escapeKey(keyOf(entry))])
  }
  const rows = largest.sort(([one], [other]) => other - one).slice(0, limit)
  const head = ['uncompressed', 'content', 'kind', 'path']
  await write(
    table(
      head,
      rows.map(([bytes, ...texts]) => [size(bytes), ...texts]),
      head.slice(0, 1),
    ),
  )
}

function lastUsed(entry: TopItem): string {
  if (entry.usedMs !== null) return age(entry.usedMs)
  return isKnownUnused(entry) ? 'never' : '-'
}

/** Uses on the day of the write are not recorded, and those before the last 90 days are not kept. */
function isKnownUnused({ usedMs, writtenMs }: TopItem): boolean {
  const days = (Date.now() - writtenMs) / DAY_MS
  return usedMs === null && days >= 1 && days < USES_DAYS
}

function keyOf({ keyBase64 }: TopItem): Key {
  const bytes = Buffer.from(keyBase64, 'base64')
  return readKey(bytes, 0, bytes.length)
}

function itemJson(entry: TopItem): LsSortJson['entries'][number] {
  const { namespace, valueBytes, writtenMs, usedMs } = entry
  return { namespace, ...keyJson(keyOf(entry)), valueBytes, writtenMs, usedMs }
}

// `varve get <key>`: the bytes of one value.

interface GetOptions extends CommonOptions {
  readonly namespace?: string
  readonly raw?: boolean
}

export const getCommand: Command = command('get', 'write the value of a key to standard output')
  .argument('<key>', "the key as 'varve ls' prints it")
  .option('--namespace <name>', 'only this namespace')
  .option('--raw', 'write to a terminal even if the bytes control it')
  .action(runGet)

async function runGet(given: string, options: GetOptions): Promise<void> {
  const key = parseKey(given)
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    for (const namespace of await namespacesOf(session, options.namespace)) {
      const { name, version } = namespace
      const value = valueOf(session, namespace, key)
      if (value === undefined) continue
      const text = readExactText(value, 0, value.length)
      if (options.json !== true) {
        if (process.stdout.isTTY && options.raw !== true && (text === undefined || !isPlain(text)))
          throw notForTerminals(key)
        return write(value)
      }
      const valueJson = text === undefined ? { valueBase64: Buffer.from(value).toString('base64') } : { value: text }
      return writeJson('get', { entry: { namespace: name, version, ...keyJson(key), ...valueJson } })
    }
    process.exitCode = NEGATIVE
    if (options.json === true) await writeJson('get', { entry: null })
    else process.stderr.write(`varve: no entry '${escapeKey(key)}'\n`)
  })
}

function notForTerminals(key: Key): VarveError {
  const way = 'write it to a file or a pipe, or see it with --json or --raw'
  return new VarveError(
    'INVALID_ARGUMENT',
    `the value of '${escapeKey(key)}' has bytes that can control a terminal; ${way}`,
  )
}

/** The key from the command line. Throws INVALID_ARGUMENT for an invalid escape. */
export function parseKey(given: string): Key {
  try {
    return unescapeKey(given)
  } catch (error) {
    throw new VarveError('INVALID_ARGUMENT', error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** `varve ls`: the keys of a cache, in the order of their hashes, or sorted by size, age or use. */
import { type Command, Option } from 'commander'
import type { LsJson, LsTaskJson, LsSortJson } from '../cli-json.ts'
import type { EngineTop } from '../engine/engine.ts'
import type { TopItem } from '../reports.ts'
import { type Key, readKey } from '../values/key.ts'
import { command, type CommonOptions } from './command.ts'
import { keyJson, keysOf, namespacesOf, type RawKey, wholeNumber } from './open/entries.ts'
import { findCache, findReadable, inspect } from './open/folder.ts'
import type { IdRecord } from './open/tasks.ts'
import { escapeKey, escapeText } from './output/escape.ts'
import { age, counted, size, write, writeJson, writeJsonList, writeLines } from './output/output.ts'
import { table } from './output/table.ts'

/** The orders of `--sort`, and those of the engine. */
const ORDERS = { size: 'largest', age: 'oldest', used: 'never-used' } as const satisfies Record<
  string,
  EngineTop['order']
>

type Order = keyof typeof ORDERS

const NOTES = `
--sort size: by value. age: by last use or write, the oldest first. used: entries that were never used, the largest first.
An entry counts as used if it was read on a later day than it was written. The last such day is stored, for 90 days. '-' = written today.`

const DAY_MS = 24 * 60 * 60 * 1000

interface LsOptions extends CommonOptions {
  readonly namespace?: string
  readonly long?: boolean
  readonly limit?: number
  readonly task?: string | true
  readonly sort?: Order
}

export const lsCommand: Command = command('ls', 'list the keys of a cache, in the order of their hashes')
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
  .option('--limit <count>', 'maximum number of lines (default: all; 10 with --sort)', wholeNumber)
  .addHelpText('after', NOTES)
  .action(run)

async function run(options: LsOptions): Promise<void> {
  if (options.task !== undefined) return listIds(options.task === true ? undefined : options.task, options)
  if (options.sort !== undefined) return listSorted(options.sort, options)
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    const namespaces = await namespacesOf(session, options.namespace)
    const entries = firstOf(keysOf(session, namespaces), options.limit ?? Number.POSITIVE_INFINITY)
    if (options.json === true) return writeJsonList('entries', jsonOf(entries))
    const long = ({ namespace, valueBytes }: RawKey): string =>
      `${size(valueBytes).padStart(10)}  ${escapeText(namespace.name)}  `
    await writeLines(
      entries,
      (entry) => `${options.long === true ? long(entry) : ''}${escapeKey(entry.key)}`,
      'no entries',
    )
  })
}

async function listIds(only: string | undefined, options: LsOptions): Promise<void> {
  const { recordsOf, tasksOf } = await import('./open/tasks.ts') // with all of tasks, which a list of keys does not need
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    const records = firstOf(recordsOf(session, await tasksOf(session, only)), options.limit ?? Number.POSITIVE_INFINITY)
    if (options.json === true) return writeJsonList('ids', idsJson(records))
    await writeLines(
      records,
      ({ task, id, variants }) => {
        const newestMs = Math.max(...variants.map(({ timeMs }) => timeMs))
        const long =
          options.long === true
            ? `${counted(variants.length, 'variant').padStart(11)}  ${age(newestMs).padStart(4)}  `
            : ''
        return `${long}${only === undefined ? `${escapeText(task)}  ` : ''}${escapeKey(id)}`
      },
      'no results of tasks',
    )
  })
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
    const request = { order: ORDERS[sort], limit, namespace: namespace ?? null }
    const entries = await session.run((store) => store.top(request))
    if (options.json === true) return writeJson('ls --sort', { entries: entries.map(itemJson) })
    const rows = entries.map((entry) => [
      size(entry.valueBytes),
      lastUsed(entry),
      age(entry.writtenMs),
      escapeText(entry.namespace),
      escapeKey(keyOf(entry)),
    ])
    const head = ['value', 'last used', 'written', 'namespace', 'key']
    if (rows.length === 0) process.stderr.write('varve: no entries\n')
    else await write(table(head, rows, head.slice(0, 3)))
  })
}

/** Uses on the day of the write are not recorded, so 'never' does not apply to entries written today. */
function lastUsed({ usedMs, writtenMs }: TopItem): string {
  if (usedMs !== null) return age(usedMs)
  return writtenMs === 0 || Date.now() - writtenMs < DAY_MS ? '-' : 'never'
}

function keyOf({ keyBase64 }: TopItem): Key {
  const bytes = Buffer.from(keyBase64, 'base64')
  return readKey(bytes, 0, bytes.length)
}

function itemJson(entry: TopItem): LsSortJson['entries'][number] {
  const { namespace, valueBytes, writtenMs, usedMs } = entry
  return { namespace, ...keyJson(keyOf(entry)), valueBytes, writtenMs, usedMs }
}

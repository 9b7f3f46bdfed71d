/** `varve ls`: the keys of a cache. */
import type { Command } from 'commander'
import type { LsJson, LsTaskJson } from '../cli-json.ts'
import { command, type CommonOptions } from './command.ts'
import { keyJson, keysOf, namespacesOf, type RawKey, wholeNumber } from './open/entries.ts'
import { escapeKey, escapeText } from './output/escape.ts'
import { findCache, findReadable, inspect } from './open/folder.ts'
import { age, counted, size, writeJsonList, writeLines } from './output/output.ts'
import type { IdRecord } from './open/tasks.ts'

interface LsOptions extends CommonOptions {
  readonly namespace?: string
  readonly long?: boolean
  readonly limit?: number
  readonly task?: string | true
}

export const lsCommand: Command = command('ls', 'list the keys of a cache, in the order of their hashes')
  .option('--namespace <name>', 'only this namespace')
  .option('--task [name]', 'list the ids of this task, or of all tasks with their names, instead of keys')
  .option('--long', 'also print the namespace and size of each value, or the variants and age of each id')
  .option('--limit <count>', 'maximum number of lines', wholeNumber)
  .action(run)

async function run(options: LsOptions): Promise<void> {
  if (options.task !== undefined) return listIds(options.task === true ? undefined : options.task, options)
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

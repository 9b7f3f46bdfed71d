/** `varve ls`: the keys of a cache. */
import type { Command } from 'commander'
import type { LsJson, LsTaskJson } from '../cli-json.ts'
import { command, type CommonOptions } from './command.ts'
import { entriesOf, keyJson, namespacesOf, type RawEntry, wholeNumber } from './entries.ts'
import { escapeKey, escapeText } from './escape.ts'
import { findCache, inspect } from './folder.ts'
import { age, counted, size, write, writeJsonList } from './output.ts'
import { type IdRecord, recordsOf, tasksOf } from './tasks.ts'

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
  await inspect(findCache(options.dir), async ({ session }) => {
    const namespaces = await namespacesOf(session, options.namespace)
    const entries = firstOf(entriesOf(session, namespaces), options.limit ?? Number.POSITIVE_INFINITY)
    if (options.json === true) return writeJsonList('entries', jsonOf(entries))
    for (const { namespace, key, value } of entries) {
      const long = `${size(value.length).padStart(10)}  ${escapeText(namespace.name)}  `
      await write(`${options.long === true ? long : ''}${escapeKey(key)}\n`)
    }
  })
}

async function listIds(only: string | undefined, options: LsOptions): Promise<void> {
  await inspect(findCache(options.dir), async ({ session }) => {
    const records = firstOf(recordsOf(session, await tasksOf(session, only)), options.limit ?? Number.POSITIVE_INFINITY)
    if (options.json === true) return writeJsonList('ids', idsJson(records))
    for (const { task, id, variants } of records) {
      const newestMs = Math.max(...variants.map(({ timeMs }) => timeMs))
      const long = options.long === true ? `${counted(variants.length, 'variant').padStart(11)}  ${age(newestMs).padStart(4)}  ` : ''
      await write(`${long}${only === undefined ? `${escapeText(task)}  ` : ''}${escapeKey(id)}\n`)
    }
  })
}

function* idsJson(records: Iterable<IdRecord>): Generator<LsTaskJson['ids'][number]> {
  for (const { task, id, variants } of records) {
    yield { task, id, variants: variants.length, newestMs: Math.max(...variants.map(({ timeMs }) => timeMs)) }
  }
}

function* jsonOf(entries: Iterable<RawEntry>): Generator<LsJson['entries'][number]> {
  for (const { namespace, key, value } of entries) {
    yield { namespace: namespace.name, version: namespace.version, ...keyJson(key), valueBytes: value.length }
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

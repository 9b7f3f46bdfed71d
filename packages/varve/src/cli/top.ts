/** `varve top`: the largest, oldest or never used entries of a cache. */
import { type Command, InvalidArgumentError } from 'commander'
import type { TopJson } from '../cli-json.ts'
import type { EngineTop } from '../engine/engine.ts'
import { type Key, readKey } from '../values/key.ts'
import type { NamespaceStats, TopItem } from '../reports.ts'
import { command, type CommonOptions } from './command.ts'
import { keyJson, namespacesOf, wholeNumber } from './open/entries.ts'
import { escapeKey, escapeText } from './output/escape.ts'
import { findCache, findReadable, inspect } from './open/folder.ts'
import { age, grouped, size, write, writeJson } from './output/output.ts'
import { table } from './output/table.ts'

type Order = EngineTop['order']

const ORDERS: readonly Order[] = ['largest', 'oldest', 'never-used']

const NOTES = `
Orders: 'largest' by value, 'oldest' by last use or write, 'never-used' with the largest first.
An entry counts as used if it was read on a later day than it was written. The last such day is stored, for 90 days. '-' = written today.`

const DAY_MS = 24 * 60 * 60 * 1000

interface TopOptions extends CommonOptions {
  readonly namespace?: string
  readonly limit: number
  readonly by: Order
}

export const topCommand: Command = command(
  'top',
  'list the largest, oldest or never used entries of a cache, and its namespaces',
)
  .option('--by <order>', `order of the entries: ${ORDERS.join(', ')}`, orderOf, 'largest')
  .option('--namespace <name>', 'only this namespace')
  .option('--limit <count>', 'maximum number of entries, and of namespaces', wholeNumber, 10)
  .addHelpText('after', NOTES)
  .action(run)

async function run(options: TopOptions): Promise<void> {
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    const all = await namespacesOf(session, options.namespace)
    const { by: order, limit, namespace = null } = options
    const entries = await session.run((store) => store.top({ order, limit, namespace }))
    const weightOf = (stats: NamespaceStats): number =>
      order === 'never-used' ? stats.neverUsedBytes : stats.keyBytes + stats.valueBytes
    const namespaces = [...all].sort((left, right) => weightOf(right) - weightOf(left)).slice(0, limit)
    if (options.json === true) return writeJson('top', { namespaces, entries: entries.map(itemJson) })
    if (all.length === 0) return write('no entries\n')
    await write(namespacesTable(namespaces))
    const rows = entries.map((entry) => [
      size(entry.valueBytes),
      lastUsed(entry),
      age(entry.writtenMs),
      escapeText(entry.namespace),
      escapeKey(keyOf(entry)),
    ])
    if (rows.length > 0)
      await write(
        `\n${table(['value', 'last used', 'written', 'namespace', 'key'], rows, ['value', 'last used', 'written'])}`,
      )
  })
}

function namespacesTable(namespaces: readonly NamespaceStats[]): string {
  const head = ['namespace', 'entries', 'keys and values', 'never used', 'on disk', 'newest', 'oldest']
  const rows = namespaces.map((namespace) => [
    escapeText(namespace.name),
    grouped(namespace.entries),
    size(namespace.keyBytes + namespace.valueBytes),
    size(namespace.neverUsedBytes),
    size(namespace.tableBytes),
    age(namespace.newestMs),
    age(namespace.oldestMs),
  ])
  return table(head, rows, head.slice(1))
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

function itemJson(entry: TopItem): TopJson['entries'][number] {
  const { namespace, valueBytes, writtenMs, usedMs } = entry
  return { namespace, ...keyJson(keyOf(entry)), valueBytes, writtenMs, usedMs }
}

function orderOf(text: string): Order {
  const order = ORDERS.find((known) => known === text)
  if (order !== undefined) return order
  throw new InvalidArgumentError(`'${text}' is not one of ${ORDERS.join(', ')}.`)
}

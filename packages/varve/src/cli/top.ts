/** `varve top`: what is largest in a cache, and how old it is as far as tables tell. */
import type { Command } from 'commander'
import type { Key } from '../key.ts'
import type { NamespaceStats } from '../reports.ts'
import type { Session } from '../session.ts'
import { command, type CommonOptions } from './command.ts'
import { entriesOf, keyJson, namespacesOf, wholeNumber } from './entries.ts'
import { escapeKey, escapeText } from './escape.ts'
import { findCache, inspect } from './folder.ts'
import { age, size, table, write, writeJson } from './output.ts'

interface TopOptions extends CommonOptions {
  readonly namespace?: string
  readonly limit: number
}

/** An entry without its value. */
interface Sized {
  readonly namespace: NamespaceStats
  readonly key: Key
  readonly valueBytes: number
}

export const topCommand: Command = command('top', 'largest entries and namespaces of a cache')
  .option('--namespace <name>', 'of this namespace only')
  .option('--limit <count>', 'so many of each', wholeNumber, 10)
  .addHelpText('after', '\nTimes are those of commits, kept for each namespace; who uses an entry is not recorded.')
  .action(run)

async function run(options: TopOptions): Promise<void> {
  await inspect(findCache(options.dir), async ({ session }) => {
    const all = await namespacesOf(session, options.namespace)
    const entries = largestOf(session, all, options.limit)
    const bytesOf = ({ keyBytes, valueBytes }: NamespaceStats): number => keyBytes + valueBytes
    const namespaces = [...all].sort((left, right) => bytesOf(right) - bytesOf(left)).slice(0, options.limit)
    if (options.json === true) {
      const named = entries.map(({ namespace, key, valueBytes }) => ({ namespace: namespace.name, ...keyJson(key), valueBytes }))
      return writeJson({ namespaces, entries: named })
    }
    const head = ['namespace', 'entries', 'keys and values', 'on disk', 'newest', 'oldest']
    const rows = namespaces.map((namespace) => [
      escapeText(namespace.name),
      namespace.entries.toLocaleString('en'),
      size(bytesOf(namespace)),
      size(namespace.tableBytes),
      age(namespace.newestMs),
      age(namespace.oldestMs),
    ])
    await write(table(head, rows, head.slice(1)))
    const lines = entries.map(({ namespace, key, valueBytes }) => [size(valueBytes), escapeText(namespace.name), escapeKey(key)])
    await write(table(['value', 'namespace', 'key'], lines, ['value']))
  })
}

/** The `limit` entries with the longest values, the longest first; of equal ones those that come first. */
function largestOf(session: Session, namespaces: readonly NamespaceStats[], limit: number): readonly Sized[] {
  const largest: Sized[] = []
  if (limit === 0) return largest
  for (const { namespace, key, value } of entriesOf(session, namespaces)) {
    const valueBytes = value.length
    if (largest.length === limit && valueBytes <= (largest.at(-1)?.valueBytes ?? 0)) continue
    const at = largest.findIndex((other) => other.valueBytes < valueBytes)
    largest.splice(at < 0 ? largest.length : at, 0, { namespace, key, valueBytes })
    largest.length = Math.min(largest.length, limit)
  }
  return largest
}

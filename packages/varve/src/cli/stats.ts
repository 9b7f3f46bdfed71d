/** `varve stats`: sizes and counts of a cache and its namespaces. */
import type { Command } from 'commander'
import { command, type CommonOptions } from './command.ts'
import { escapeText } from './escape.ts'
import { findCaches, inspect } from './folder.ts'
import { age, counted, size, table, write, writeJson } from './output.ts'
import type { Stats } from '../reports.ts'

export const statsCommand: Command = command('stats', 'sizes and counts of a cache and its namespaces').action(run)

async function run(options: CommonOptions): Promise<void> {
  const found = []
  for (const dir of findCaches(options.dir)) {
    const stats = await inspect(dir, ({ session }) => session.run((store) => store.stats()))
    found.push({ dir, ...stats })
  }
  if (options.json === true) return writeJson(found.length === 1 ? found[0] : found)
  for (const { dir, ...stats } of found) await write(textOf(dir, stats))
}

function textOf(dir: string, stats: Stats): string {
  const files = `${counted(stats.files, 'file')}, ${size(stats.bytes)}`
  const parts = `${counted(stats.tables, 'table')} ${size(stats.tableBytes)}, ${counted(stats.logs, 'log')} ${size(stats.logBytes)}`
  const head = ['namespace', 'version', 'entries', 'keys', 'values', 'tables', 'on disk', 'newest', 'oldest']
  const rows = stats.namespaces.map((namespace) => [
    escapeText(namespace.name),
    escapeText(namespace.version),
    namespace.entries.toLocaleString('en'),
    size(namespace.keyBytes),
    size(namespace.valueBytes),
    String(namespace.tables),
    size(namespace.tableBytes),
    age(namespace.newestMs),
    age(namespace.oldestMs),
  ])
  return `${escapeText(dir)}\n${files} (${parts}), manifest ${stats.manifest}\n${table(head, rows, head.slice(2))}`
}

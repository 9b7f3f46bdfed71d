/** `varve stats`: sizes and counts of a cache and its namespaces. */
import type { Command } from 'commander'
import type { EachReports } from '../cli-json.ts'
import type { NamespaceStats } from '../reports.ts'
import { command, type CommonOptions } from './command.ts'
import { reportEach } from './open/each.ts'
import { escapeText } from './output/escape.ts'
import { findReadable, inspect } from './open/folder.ts'
import { layersText } from './layers.ts'
import { age, counted, grouped, size } from './output/output.ts'
import { table } from './output/table.ts'

export const statsCommand: Command = command('stats', 'print sizes and counts of a cache and its namespaces').action(
  run,
)

async function run(options: CommonOptions): Promise<void> {
  await reportEach(
    'stats',
    options,
    (dir) =>
      inspect(dir, async ({ session, domain }) => ({ ...(await session.run((store) => store.stats())), domain })),
    textOf,
    findReadable,
  )
}

function textOf(stats: EachReports['stats']): string {
  const files = `${counted(stats.files, 'file')}, ${size(stats.bytes)}`
  const parts = `${counted(stats.tables, 'table')} ${size(stats.tableBytes)}, ${counted(stats.logs, 'log')} ${size(stats.logBytes)}`
  const head = ['namespace', 'version', 'entries', 'keys', 'values', 'on disk', 'age']
  const rows = stats.namespaces.map((namespace) => [
    escapeText(namespace.name),
    escapeText(namespace.version),
    grouped(namespace.entries),
    size(namespace.keyBytes),
    size(namespace.valueBytes),
    size(namespace.tableBytes),
    ages(namespace),
  ])
  const namespaces = rows.length === 0 ? 'no entries\n' : table(head, rows, head.slice(2))
  const domain = stats.domain === 'untrusted' ? UNTRUSTED : ''
  return `${files} (${parts}), manifest ${stats.manifest}\n${domain}${layersText(stats.layers)}${namespaces}`
}

const UNTRUSTED = 'of untrusted scopes: no trusted scope publishes it\n'

/** The ages of the newest and the oldest entry. */
function ages({ newestMs, oldestMs }: NamespaceStats): string {
  const [newest, oldest] = [age(newestMs), age(oldestMs)]
  return newest === oldest ? newest : `${newest} - ${oldest}`
}

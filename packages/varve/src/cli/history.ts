/** `varve history`: the last builds, with what they got from the cache and why they made the rest. */
import type { Command } from 'commander'
import prettyMs from 'pretty-ms'
import { readHistory } from '../history/history.ts'
import type { BuildRecord } from '../history/record.ts'
import { command, type CommonOptions } from './command.ts'
import { reportEach, inspect } from './open/folder.ts'
import { wholeNumber } from './open/entries.ts'
import { escapeText } from './output/escape.ts'
import { age, grouped } from './output/output.ts'
import { table } from './output/table.ts'

interface HistoryOptions extends CommonOptions {
  readonly limit: number
}

export const historyCommand: Command = command(
  'history',
  'list the last builds: results from the cache, time saved, reasons of misses',
)
  .option('--limit <count>', 'maximum number of builds', wholeNumber, 20)
  .action(run)

async function run(options: HistoryOptions): Promise<void> {
  const look = (dir: string): Promise<{ readonly builds: readonly BuildRecord[] }> =>
    inspect(dir, async ({ session }) => ({ builds: session.call(readHistory).slice(0, options.limit) }))
  await reportEach('history', options, look, ({ builds }) =>
    builds.length === 0 ? 'no builds recorded\n' : textOf(builds),
  )
}

function textOf(builds: readonly BuildRecord[]): string {
  const head = ['tool', 'started', 'took', 'from cache', 'saved', 'misses', 'namespaces']
  const rows = builds.map((build) => [
    escapeText(build.name),
    age(build.startMs),
    time(build.durationMs),
    `${grouped(build.hits)} of ${grouped(build.hits + build.misses)}`,
    build.savedMs === 0 ? '-' : time(build.savedMs),
    escapeText(reasonsOf(build.reasons)),
    escapeText(namespacesOf(build)),
  ])
  return table(head, rows, ['started', 'took', 'from cache', 'saved'])
}

function reasonsOf(reasons: Readonly<Record<string, number>>): string {
  const texts = Object.entries(reasons).map(([reason, count]) => `${reason} (${grouped(count)})`)
  return texts.length === 0 ? '-' : texts.join(', ')
}

/** The namespaces that a record names, and the number of the others. */
function namespacesOf({ namespaces, namespaceCount }: BuildRecord): string {
  const others = namespaceCount - namespaces.length
  const texts = others > 0 ? [...namespaces, `${grouped(others)} more`] : namespaces
  return texts.length === 0 ? '-' : texts.join(', ')
}

function time(ms: number): string {
  return prettyMs(ms, ms < 60_000 ? {} : { secondsDecimalDigits: 0, unitCount: 2 })
}

/** `varve history`: the last builds, with what they got from the cache and why they made the rest. */
import type { Command } from 'commander'
import prettyMs from 'pretty-ms'
import { readHistory, type BuildRecord } from '../history/history.ts'
import { command, type CommonOptions } from './command.ts'
import { type Described, describedIn } from './open/described.ts'
import { reportEach, inspect } from './open/folder.ts'
import { wholeNumber } from './open/entries.ts'
import { escapeText } from './output/escape.ts'
import { age, grouped } from './output/output.ts'
import { table } from './output/table.ts'

interface HistoryOptions extends CommonOptions {
  readonly limit: number
  readonly raw?: boolean
}

export const historyCommand: Command = command(
  'history',
  'list the last builds: results from the cache, their work, reasons of misses',
)
  .option('--limit <count>', 'maximum number of builds', wholeNumber, 20)
  .option('--raw', 'list namespaces as they are stored, instead of what they are about')
  .action(run)

async function run(options: HistoryOptions): Promise<void> {
  const described = new WeakMap<readonly BuildRecord[], Described>()
  const look = (dir: string): Promise<{ readonly builds: readonly BuildRecord[] }> =>
    inspect(dir, async ({ session }) => {
      const builds = session.call(readHistory).slice(0, options.limit)
      described.set(
        builds,
        await describedIn(
          session,
          options.raw,
          builds.flatMap(({ namespaces }) => namespaces),
        ),
      )
      return { builds }
    })
  await reportEach('history', options, look, ({ builds }) =>
    builds.length === 0 ? 'no builds recorded\n' : textOf(builds, described.get(builds)),
  )
}

function textOf(builds: readonly BuildRecord[], described: Described | undefined): string {
  const isDescribed = described !== undefined && described.descriptions.length > 0
  const head = ['tool', 'started', 'took', 'from cache', 'work', 'misses', isDescribed ? 'contents' : 'namespaces']
  const rows = builds.map((build) => [
    escapeText(build.name),
    age(build.startMs),
    time(build.durationMs),
    `${grouped(build.hits)} of ${grouped(build.hits + build.misses)}`,
    build.savedMs === 0 ? '-' : time(build.savedMs),
    escapeText(reasonsOf(build.reasons)),
    escapeText(isDescribed ? described.titlesOf(build.namespaces).join(', ') || '-' : namespacesOf(build)),
  ])
  return table(head, rows, ['started', 'took', 'from cache', 'work'])
}

/** Reasons whose word is that of the record, as the report of a build has them. */
const PHRASES: ReadonlyMap<string, string> = new Map([
  ['file', 'source changed'],
  ['result', 'result evicted'],
])

function reasonsOf(reasons: Readonly<Record<string, number>>): string {
  const texts = Object.entries(reasons).map(([reason, count]) => `${PHRASES.get(reason) ?? reason} (${grouped(count)})`)
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

/** `varve clear`: removes all entries of the caches of this project, or those of one namespace, after a question. */
import type { Command } from 'commander'
import { createInterface } from 'node:readline/promises'
import type { EachReports } from '../cli-json.ts'
import { VarveError } from '../errors.ts'
import type { NamespaceStats } from '../reports.ts'
import type { Session } from '../session/session.ts'
import { writeKey } from '../values/bytes.ts'
import { command, type CommonOptions } from './command.ts'
import { describedIn } from './open/described.ts'
import { keysOf, namespacesOf } from './open/entries.ts'
import { change, findCache, findCaches, inspect, reportEach } from './open/folder.ts'
import { escapeText } from './output/escape.ts'
import { counted, foreignText, size, withProgress } from './output/output.ts'

interface ClearOptions extends CommonOptions {
  readonly namespace?: string
  readonly yes?: boolean
}

type ClearReport = EachReports['clear']

export const clearCommand: Command = command(
  'clear',
  'remove all entries of the caches of this project, or those of one namespace of a cache; builds may run',
)
  .option('--namespace <name>', "only this namespace, or this content as 'varve stats --dir' lists it")
  .option('--yes', 'do not ask')
  .action(run)

async function run(options: ClearOptions): Promise<void> {
  const { namespace } = options
  const find = namespace === undefined ? findCaches : (given?: string): string[] => [findCache(given)]
  if (options.yes !== true && !(await isWanted(find(options.dir), namespace))) return
  await reportEach('clear', options, (dir) => clear(dir, namespace), textOf, find)
}

/** Asks at the terminal. Throws INVALID_ARGUMENT if there is none. */
async function isWanted(caches: readonly string[], namespace: string | undefined): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new VarveError('INVALID_ARGUMENT', 'clear asks at a terminal, and there is none; use --yes')
  for (const dir of caches) {
    const { bytes } = await inspect(dir, ({ session }) => session.run((store) => store.stats()))
    process.stderr.write(`${escapeText(dir)}  ${size(bytes)}\n`)
  }
  const what = namespace === undefined ? 'all entries' : `'${escapeText(namespace)}'`
  const questions = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(?:es)?$/i.test((await questions.question(`Remove ${what}? [y/N] `)).trim())
  } finally {
    questions.close()
  }
}

async function clear(dir: string, namespace: string | undefined): Promise<ClearReport> {
  return change(dir, async ({ session }) => {
    const entriesCleared = await clearAll(session, await wantedIn(session, namespace))
    const report = await withProgress('clear', (control) => session.run((store) => store.compact(true, control)))
    return { ...report, entriesCleared, bytesFreed: report.bytesBefore - report.bytesAfter }
  })
}

/** The namespaces of a content, or the one of that name. Throws INVALID_ARGUMENT, which lists them, if there is none. */
async function wantedIn(session: Session, namespace: string | undefined): Promise<readonly NamespaceStats[]> {
  if (namespace === undefined) return namespacesOf(session, undefined)
  const described = await describedIn(session)
  const content = described.descriptions.find(({ title }) => title === namespace)
  return content === undefined ? namespacesOf(session, namespace) : described.statsOf(content)
}

/** Deletes all entries of namespaces in one commit, and returns their number. */
async function clearAll(session: Session, namespaces: readonly NamespaceStats[]): Promise<number> {
  let entries = 0
  for (const { namespace, key } of keysOf(session, namespaces)) {
    session.call((store) => {
      const keyBytes = writeKey(session.scratchOf(store), key)
      store.delete(store.namespace(namespace.name, namespace.version), keyBytes)
    })
    entries += 1
  }
  if (entries > 0) await session.run(async (store) => store.commit('relaxed'))
  return entries
}

function textOf({ entriesCleared, bytesFreed, foreignFiles }: ClearReport): string {
  const freed = bytesFreed > 0 ? `, ${size(bytesFreed)} freed` : ''
  return `${counted(entriesCleared, 'entry', 'entries')} removed${freed}\n${foreignText(foreignFiles)}`
}

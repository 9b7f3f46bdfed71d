/** The commands that change caches in place: `varve gc` frees space, `varve repair` quarantines damaged files, `varve clear` removes entries. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { byteSize } from '../checks/options.ts'
import type { EachReports } from '../cli-json.ts'
import { command, type CommonOptions } from './command.ts'
import { change, type OpenFolder, reportEach, findReadable, inspect, findCache, findCaches } from './open/folder.ts'
import { counted, foreignText, size, withProgress } from './output/output.ts'
import type { VerifyReport, NamespaceStats } from '../reports.ts'
import { damageTable, paint } from './output/table.ts'
import { escapeText, NEGATIVE } from './output/escape.ts'
import { createInterface } from 'node:readline/promises'
import { VarveError } from '../errors.ts'
import type { Session } from '../session/session.ts'
import { writeKey } from '../values/bytes.ts'
import { describedIn, keysOf, namespacesOf } from './open/entries.ts'

interface GcOptions extends CommonOptions {
  readonly maxBytes?: number
  readonly full?: boolean
}

type GcReport = EachReports['gc']

export const gcCommand: Command = command(
  'gc',
  'free the space of overwritten, deleted and damaged entries, and evict entries above a limit; builds may run',
)
  .option(
    '--max-bytes <size>',
    "limit of each cache, such as '500MB' or '2GiB'; evicts least recently used entries (default: none)",
    sizeOf,
  )
  .option('--full', 'merge all files of a cache, instead of those that are due')
  .action(runGc)

async function runGc(options: GcOptions): Promise<void> {
  await reportEach('gc', options, (dir) => collect(dir, options), gcText)
}

async function collect(dir: string, { full = false, maxBytes }: GcOptions): Promise<GcReport> {
  const work = ({ session }: OpenFolder): Promise<GcReport> =>
    withProgress('gc', async (control) => {
      const report = await session.run((store) => store.compact(full, control))
      return { ...report, bytesFreed: report.bytesBefore - report.bytesAfter }
    })
  return change(dir, work, maxBytes)
}

function gcText(report: GcReport): string {
  return freedText(report) + foreignText(report.foreignFiles)
}

function freedText({ changed, bytesFreed, bytesBefore, bytesAfter, entriesDropped }: GcReport): string {
  if (!changed) return 'nothing to free\n'
  // A checkpoint writes a table first, so the directory may grow.
  const freed = bytesFreed >= 0 ? `${size(bytesFreed)} freed` : `${size(-bytesFreed)} more`
  return `${freed} (${size(bytesBefore)} -> ${size(bytesAfter)}), ${counted(entriesDropped, 'entry', 'entries')} dropped\n`
}

function sizeOf(text: string): number {
  const bytes = byteSize(text)
  if (bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= 65_536) return bytes
  throw new InvalidArgumentError(`invalid size '${text}': expected at least 64 KiB, for example '500MB'.`)
}

// `varve repair` keeps every sound entry. With `--check` it reads every byte and modifies nothing.

interface RepairCommandOptions extends CommonOptions {
  readonly check?: boolean
  readonly dryRun?: boolean
}

type Repaired = EachReports['repair']

export const repairCommand: Command = command(
  'repair',
  'quarantine damaged files and keep every sound entry; builds may run',
)
  .option('--dry-run', 'report what would be repaired, and write nothing')
  .addOption(
    new Option('--check', 'read every byte, also of layers, and report damage; writes nothing').conflicts('dryRun'),
  )
  .action(runRepair)

async function runRepair(options: RepairCommandOptions): Promise<void> {
  if (options.check === true) return checkAll(options)
  const dryRun = options.dryRun === true
  const use = dryRun ? inspect : change
  const repair = (dir: string): Promise<Repaired> =>
    use(dir, async ({ session }) => {
      const report = await withProgress('repair', (control) => session.run((store) => store.repair(dryRun, control)))
      return { dryRun, ...report }
    })
  const found = await reportEach('repair', options, repair, repairText)
  if (found.some(({ sound }) => !sound)) process.exitCode = NEGATIVE
}

function repairText({
  damage,
  quarantined,
  unrecoverable,
  entriesBefore,
  entriesAfter,
  remaining,
  foreignFiles,
  dryRun,
}: Repaired): string {
  if (damage.length === 0) return `sound: ${counted(entriesAfter, 'entry', 'entries')}, nothing to repair\n`
  const lines = [
    `${counted(damage.length, 'place')} damaged; the entries there are lost:`,
    damageTable(damage).trimEnd(),
  ]
  if (unrecoverable)
    lines.push('A log or manifest is damaged: the newest entries are unknown, so all entries are discarded.')
  if (quarantined.length > 0)
    lines.push(`${dryRun ? 'To be quarantined' : 'Quarantined'} as *.bad: ${quarantined.map(escapeText).join(', ')}`)
  if (!dryRun)
    lines.push(`${counted(entriesAfter, 'entry', 'entries')} kept, of ${entriesBefore} that were readable before.`)
  if (remaining.length > 0) {
    lines.push(
      `${counted(remaining.length, 'place')} still damaged, in files of a running build; repair again when it has ended.`,
    )
  }
  return `${lines.join('\n')}\n${foreignText(foreignFiles)}`
}

async function checkAll(options: CommonOptions): Promise<void> {
  const verify = (dir: string): Promise<VerifyReport> =>
    inspect(dir, ({ session }) => withProgress('check', (control) => session.run((store) => store.verify(control))))
  const found = await reportEach('repair --check', options, verify, checkText, findReadable)
  if (found.some(({ sound }) => !sound)) process.exitCode = NEGATIVE
}

function checkText({ sound, files, bytes, entries, damage }: VerifyReport): string {
  const counts = `${counted(files, 'file')}, ${size(bytes)}, ${counted(entries, 'entry', 'entries')}`
  const verdict = `${sound ? paint('green', 'sound') : paint('red', `${counted(damage.length, 'place')} damaged`)}: ${counts}\n`
  const fix =
    damage.length > 0 ? "Damaged entries are misses; the next commit or 'npx varve repair' quarantines them.\n" : ''
  return `${verdict}${damageTable(damage)}${fix}`
}

// `varve clear` asks before it removes anything.

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
  .action(runClear)

async function runClear(options: ClearOptions): Promise<void> {
  const { namespace } = options
  const find = namespace === undefined ? findCaches : (given?: string): string[] => [findCache(given)]
  if (options.yes !== true && !(await isWanted(find(options.dir), namespace))) return
  await reportEach('clear', options, (dir) => clear(dir, namespace), clearText, find)
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

function clearText({ entriesCleared, bytesFreed, foreignFiles }: ClearReport): string {
  const freed = bytesFreed > 0 ? `, ${size(bytesFreed)} freed` : ''
  return `${counted(entriesCleared, 'entry', 'entries')} removed${freed}\n${foreignText(foreignFiles)}`
}

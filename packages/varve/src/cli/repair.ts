/** `varve repair`: quarantines damaged files and keeps every sound entry. With `--check` it reads every byte and modifies nothing. */
import { type Command, Option } from 'commander'
import type { EachReports } from '../cli-json.ts'
import type { VerifyReport } from '../reports.ts'
import { command, type CommonOptions } from './command.ts'
import { damageTable, paint } from './output/table.ts'
import { change, findReadable, inspect, reportEach } from './open/folder.ts'
import { escapeText } from './output/escape.ts'
import { counted, foreignText, size, withProgress } from './output/output.ts'
import { NEGATIVE } from './output/exit.ts'

interface RepairCommandOptions extends CommonOptions {
  readonly check?: boolean
  readonly dryRun?: boolean
}

type Repaired = EachReports['repair']

export const repairCommand: Command = command(
  'repair',
  'quarantine damaged files and keep every sound entry; builds may run meanwhile',
)
  .option('--dry-run', 'report what would be repaired, and write nothing')
  .addOption(
    new Option('--check', 'read every byte, also of layers, and report damage; writes nothing').conflicts('dryRun'),
  )
  .action(run)

async function run(options: RepairCommandOptions): Promise<void> {
  if (options.check === true) return checkAll(options)
  const dryRun = options.dryRun === true
  const use = dryRun ? inspect : change
  const repair = (dir: string): Promise<Repaired> =>
    use(dir, async ({ session }) => {
      const report = await withProgress('repair', (control) => session.run((store) => store.repair(dryRun, control)))
      return { dryRun, ...report }
    })
  const found = await reportEach('repair', options, repair, textOf)
  if (found.some(({ sound }) => !sound)) process.exitCode = NEGATIVE
}

function textOf({
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

/** `varve repair`: quarantines damaged files and keeps every sound entry. */
import type { Command } from 'commander'
import type { EachReports } from '../cli-json.ts'
import { command, type CommonOptions } from './command.ts'
import { damageTable } from './output/table.ts'
import { reportEach, change, inspect } from './open/folder.ts'
import { escapeText } from './output/escape.ts'
import { counted, foreignText } from './output/output.ts'
import { withProgress } from './output/progress.ts'
import { NEGATIVE } from './output/exit.ts'

interface RepairCommandOptions extends CommonOptions {
  readonly dryRun?: boolean
}

type Repaired = EachReports['repair']

export const repairCommand: Command = command(
  'repair',
  'quarantine damaged files and keep every sound entry; builds may run meanwhile',
)
  .option('--dry-run', 'report what would be repaired, and write nothing')
  .action(run)

async function run(options: RepairCommandOptions): Promise<void> {
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

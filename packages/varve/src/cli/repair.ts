/** `varve repair`: sets aside what is damaged and keeps the rest; invents nothing. */
import type { Command } from 'commander'
import type { EachReports } from '../cli-json.ts'
import { command, type CommonOptions } from './command.ts'
import { damageTable } from './damage.ts'
import { reportEach } from './each.ts'
import { escapeText } from './escape.ts'
import { NEGATIVE } from './exit.ts'
import { change, inspect } from './folder.ts'
import { counted } from './output.ts'
import { withProgress } from './progress.ts'

interface RepairCommandOptions extends CommonOptions {
  readonly dryRun?: boolean
}

type Repaired = EachReports['repair']

export const repairCommand: Command = command('repair', 'set aside what is damaged, keep every entry that is sound; builds may go on')
  .option('--dry-run', 'write nothing, only say what would be set aside')
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

function textOf({ damage, quarantined, unrecoverable, entriesBefore, entriesAfter, remaining, dryRun }: Repaired): string {
  if (damage.length === 0) return `sound: ${counted(entriesAfter, 'entry', 'entries')}, nothing to repair\n`
  const lines = [`${counted(damage.length, 'place')} damaged; the entries there are lost:`, damageTable(damage).trimEnd()]
  if (unrecoverable) lines.push('A log or manifest is damaged: nothing tells which entries are the newest, so all of them are let go.')
  if (quarantined.length > 0) lines.push(`${dryRun ? 'Would be set' : 'Set'} aside as *.bad: ${quarantined.map(escapeText).join(', ')}`)
  if (!dryRun) lines.push(`${counted(entriesAfter, 'entry', 'entries')} kept, of ${entriesBefore} that could be read before.`)
  if (remaining.length > 0) {
    lines.push(`${counted(remaining.length, 'place')} still damaged, in files of a build that runs; repair again when it is done.`)
  }
  return `${lines.join('\n')}\n`
}

/** `varve repair`: sets aside what is damaged and keeps the rest; invents nothing. */
import type { Command } from 'commander'
import type { RepairReport } from '../reports.ts'
import { command, type CommonOptions } from './command.ts'
import { damageTable } from './damage.ts'
import { escapeText } from './escape.ts'
import { NEGATIVE } from './exit.ts'
import { findCaches, openFolder } from './folder.ts'
import { counted, write, writeJson } from './output.ts'
import { withProgress } from './progress.ts'
import { controlOf } from './watched.ts'

interface RepairCommandOptions extends CommonOptions {
  readonly dryRun?: boolean
}

export const repairCommand: Command = command('repair', 'set aside what is damaged, keep every entry that is sound; builds may go on')
  .option('--dry-run', 'write nothing, only say what would be set aside')
  .action(run)

async function run(options: RepairCommandOptions): Promise<void> {
  const isDry = options.dryRun === true
  const found = []
  for (const dir of findCaches(options.dir)) {
    const { session } = await openFolder(dir, isDry)
    try {
      const repair = (): Promise<RepairReport> =>
        withProgress('repair', (watch) => session.run((store) => store.repair(isDry, controlOf(watch))))
      found.push({ dir, dryRun: isDry, ...(await repair()) })
    } finally {
      await session.close()
    }
  }
  if (found.some((report) => !report.sound)) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson(found.length === 1 ? found[0] : found)
  for (const { dir, ...report } of found) await write(`${escapeText(dir)}\n${textOf(report)}`)
}

function textOf(report: RepairReport & { readonly dryRun: boolean }): string {
  const { damage, setAside, everythingLost, entriesBefore, entriesAfter, remaining, dryRun } = report
  if (damage.length === 0) return `sound: ${counted(entriesAfter, 'entry', 'entries')}, nothing to repair\n`
  const lines = [`${counted(damage.length, 'place')} damaged; the entries there are lost:`, damageTable(damage).trimEnd()]
  if (everythingLost) lines.push('A log or manifest is damaged: nothing tells which entries are the newest, so all of them are let go.')
  if (setAside.length > 0) lines.push(`${dryRun ? 'Would be set' : 'Set'} aside as *.bad: ${setAside.map(escapeText).join(', ')}`)
  if (!dryRun) lines.push(`${counted(entriesAfter, 'entry', 'entries')} kept, of ${entriesBefore} that could be read before.`)
  if (remaining.length > 0) {
    lines.push(`${counted(remaining.length, 'place')} still damaged, in files of a build that runs; repair again when it is done.`)
  }
  return `${lines.join('\n')}\n`
}

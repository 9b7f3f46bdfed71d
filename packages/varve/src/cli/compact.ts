/** `varve compact`: checkpoints logs and merges tables into the smallest directory. */
import type { Command } from 'commander'
import type { CompactReport } from '../reports.ts'
import { command, type CommonOptions } from './command.ts'
import { reportEach } from './open/each.ts'
import { change } from './open/folder.ts'
import { counted, foreignText, size } from './output/output.ts'
import { withProgress } from './output/progress.ts'

interface CompactCommandOptions extends CommonOptions {
  readonly due?: boolean
}

export const compactCommand: Command = command('compact', 'merge the files of a cache; builds may run meanwhile')
  .option('--due', 'only the work that is due, instead of all')
  .action(run)

async function run(options: CompactCommandOptions): Promise<void> {
  const isFull = options.due !== true
  const compact = (dir: string): Promise<CompactReport> =>
    change(dir, ({ session }) =>
      withProgress('compact', (control) => session.run((store) => store.compact(isFull, control))),
    )
  await reportEach('compact', options, compact, textOf)
}

function textOf({ changed, bytesBefore, bytesAfter, entriesDropped, foreignFiles }: CompactReport): string {
  const foreign = foreignText(foreignFiles)
  if (!changed) return `nothing to do\n${foreign}`
  const dropped = `${counted(entriesDropped, 'entry', 'entries')} dropped`
  return `${size(bytesBefore)} -> ${size(bytesAfter)}, ${dropped}\n${foreign}`
}

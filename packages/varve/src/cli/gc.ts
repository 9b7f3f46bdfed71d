/** `varve gc`: frees obsolete space: checkpoints and merges what is due, and applies a size limit if one is given. */
import { type Command, InvalidArgumentError } from 'commander'
import type { EachReports } from '../cli-json.ts'
import { byteSize } from '../checks/size.ts'
import { command, type CommonOptions } from './command.ts'
import { reportEach } from './open/each.ts'
import { change } from './open/folder.ts'
import { counted, foreignText, size } from './output/output.ts'
import { withProgress } from './output/progress.ts'

interface GcOptions extends CommonOptions {
  readonly maxBytes?: number
}

type GcReport = EachReports['gc']

export const gcCommand: Command = command(
  'gc',
  'free the space of overwritten, deleted and damaged entries, and evict entries above a limit',
)
  .option(
    '--max-bytes <size>',
    "limit of each cache, such as '500MB' or '2GiB'; evicts least recently used entries (default: none)",
    sizeOf,
  )
  .action(run)

async function run(options: GcOptions): Promise<void> {
  await reportEach('gc', options, (dir) => collect(dir, options.maxBytes), textOf)
}

async function collect(dir: string, maxBytes: number | undefined): Promise<GcReport> {
  const report = await change(
    dir,
    ({ session }) => withProgress('gc', (control) => session.run((store) => store.compact(false, control))),
    maxBytes,
  )
  return { ...report, bytesFreed: report.bytesBefore - report.bytesAfter }
}

function textOf(report: GcReport): string {
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

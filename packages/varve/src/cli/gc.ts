/** `varve gc`: frees obsolete space: applies a size limit, checkpoints and merges. */
import { type Command, InvalidArgumentError } from 'commander'
import { byteSize } from '../checks/options.ts'
import type { EachReports } from '../cli-json.ts'
import { command, type CommonOptions } from './command.ts'
import { change, type OpenFolder, reportEach } from './open/folder.ts'
import { counted, foreignText, size, withProgress } from './output/output.ts'

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
  .action(run)

async function run(options: GcOptions): Promise<void> {
  await reportEach('gc', options, (dir) => collect(dir, options), textOf)
}

async function collect(dir: string, { full = false, maxBytes }: GcOptions): Promise<GcReport> {
  const work = ({ session }: OpenFolder): Promise<GcReport> =>
    withProgress('gc', async (control) => {
      const report = await session.run((store) => store.compact(full, control))
      return { ...report, bytesFreed: report.bytesBefore - report.bytesAfter }
    })
  return change(dir, work, maxBytes)
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

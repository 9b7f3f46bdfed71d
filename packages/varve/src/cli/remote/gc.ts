/** `varve remote gc`: removes objects of the remote that no head names. */
import { type Command, InvalidArgumentError } from 'commander'
import { counted, size, write, writeJson } from '../output/output.ts'
import { withProgress } from '../output/progress.ts'
import { openRemote, remoteCommandOf, type RemoteCommandOptions } from './module.ts'

interface GcOptions extends RemoteCommandOptions {
  readonly dryRun?: boolean
  readonly grace?: number
}

export const remoteGcCommand: Command = remoteCommandOf(
  'gc',
  'remove objects of the remote that no head names; signed with VARVE_SIGNING_KEY',
)
  .option('--dry-run', 'report what would be removed, and write nothing')
  .option('--grace <hours>', 'keep objects that were written in this time (default: 24)', hours)
  .action(run)

async function run({ dryRun, grace, ...options }: GcOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read-write')
  const graceMs = grace === undefined ? undefined : grace * 3_600_000
  const report = await withProgress('gc', (control) => module.gc(remote, { dryRun, graceMs, ...control }))
  if (options.json === true) return writeJson('remote gc', report)
  const removed = `${counted(report.removed, 'object')} of ${report.objects} ${report.dryRun ? 'would be removed' : 'removed'}`
  await write(`${removed}, ${size(report.removedBytes)} of ${size(report.bytes)}\n`)
}

function hours(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value >= 0 && text !== '') return value
  throw new InvalidArgumentError(`invalid time '${text}': expected hours, for example '24'.`)
}

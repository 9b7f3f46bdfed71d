/** `varve remote compact`: merges layers of the remote. */
import type { Command } from 'commander'
import { size, write, writeJson } from '../output/output.ts'
import { withProgress } from '../output/progress.ts'
import { layersText, openRemote, remoteCommandOf, type RemoteCommandOptions } from './module.ts'

interface CompactOptions extends RemoteCommandOptions {
  readonly full?: boolean
}

export const remoteCompactCommand: Command = remoteCommandOf(
  'compact',
  'merge layers of the remote; signed with VARVE_SIGNING_KEY',
)
  .option('--full', 'merge all layers of each cache into one, which every reader fetches again')
  .action(run)

async function run({ full, ...options }: CompactOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read-write')
  const report = await withProgress('compact', (control) =>
    module.compact(remote, { full, shared: options.shared, ...control }),
  )
  if (options.json === true) return writeJson('remote compact', report)
  if (report.outcome === 'unchanged') return write('nothing to merge\n')
  await write(`${layersText(report.layers)}merged, ${size(report.sentBytes)} sent\n`)
}

/** `varve remote revoke`: takes a layer from all readers. */
import type { Command } from 'commander'
import { counted, write, writeJson } from '../output/output.ts'
import { layersText, openRemote, remoteCommandOf, type RemoteCommandOptions } from './module.ts'

export const remoteRevokeCommand: Command = remoteCommandOf(
  'revoke',
  'take a layer from all readers; signed with VARVE_SIGNING_KEY',
)
  .argument('<layer>', "the digest that 'varve remote status' prints, or a commit whose publication is wrong")
  .action(run)

async function run(target: string, options: RemoteCommandOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read-write')
  const report = await module.revoke(remote, target)
  if (options.json === true) return writeJson('remote revoke', report)
  await write(`${layersText(report.layers)}${counted(report.layers.length, 'layer')} revoked\n`)
}

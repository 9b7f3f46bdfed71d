/** `varve remote`: shares caches between machines. One file per command in `remote/`; the work is done by `@varve/remote`. */
import { Command } from 'commander'
import { EXIT_HELP } from './exit.ts'
import { remoteKeygenCommand } from './remote/keygen.ts'
import { remotePullCommand } from './remote/pull.ts'
import { remotePushCommand } from './remote/push.ts'
import { remoteStatusCommand } from './remote/status.ts'
import { remoteVerifyCommand } from './remote/verify.ts'

export const remoteCommand: Command = new Command('remote')
  .description('publish, fetch, show and verify what a remote has (VARVE_REMOTE)')
  .addHelpText('after', EXIT_HELP)

for (const command of [remotePushCommand, remotePullCommand, remoteStatusCommand, remoteVerifyCommand, remoteKeygenCommand]) {
  remoteCommand.addCommand(command.exitOverride())
}

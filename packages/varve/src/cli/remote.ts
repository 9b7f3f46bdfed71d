/** `varve remote`: shares caches between machines. One file per command in `remote/`; the work is done by `@varve/remote`. */
import { Command } from 'commander'
import { EXIT_HELP } from './output/exit.ts'
import { remoteCompactCommand } from './remote/compact.ts'
import { remoteDoctorCommand } from './remote/doctor.ts'
import { remoteGcCommand } from './remote/gc.ts'
import { remoteKeygenCommand } from './remote/keygen.ts'
import { remotePullCommand } from './remote/pull.ts'
import { remotePushCommand } from './remote/push.ts'
import { remoteRevokeCommand } from './remote/revoke.ts'
import { remoteStatusCommand } from './remote/status.ts'
import { remoteVerifyCommand } from './remote/verify.ts'

export const remoteCommand: Command = new Command('remote')
  .description('publish, fetch, check, show, verify and clean up what a remote has (VARVE_REMOTE)')
  .addHelpText('after', EXIT_HELP)

const reading = [remoteDoctorCommand, remotePullCommand, remoteStatusCommand, remoteVerifyCommand]
const writing = [remoteCompactCommand, remoteGcCommand, remoteRevokeCommand]
for (const command of [remotePushCommand, ...reading, ...writing, remoteKeygenCommand]) {
  remoteCommand.addCommand(command.exitOverride())
}

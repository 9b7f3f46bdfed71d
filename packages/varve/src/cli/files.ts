/** `varve files`: outputs of tasks that are stored by their content. One file per command in `files/`. */
import { Command } from 'commander'
import { EXIT_HELP } from './output/exit.ts'
import { filesGcCommand } from './files/gc.ts'
import { filesLsCommand } from './files/ls.ts'
import { filesRestoreCommand } from './files/restore.ts'
import { filesVerifyCommand } from './files/verify.ts'

export const filesCommand: Command = new Command('files')
  .description('list, verify, restore and remove stored files')
  .addHelpText('after', EXIT_HELP)

for (const command of [filesLsCommand, filesVerifyCommand, filesRestoreCommand, filesGcCommand]) {
  filesCommand.addCommand(command.exitOverride())
}

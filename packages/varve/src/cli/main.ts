#!/usr/bin/env node
/** `varve`: looks inside a cache. One file per command; this one puts them together. */
import { Command, CommanderError } from 'commander'
import { compactCommand } from './compact.ts'
import { report } from './command.ts'
import { doctorCommand } from './doctor.ts'
import { EXIT_HELP, OK, USAGE } from './exit.ts'
import { filesCommand } from './files.ts'
import { getCommand } from './get.ts'
import { lsCommand } from './ls.ts'
import { statsCommand } from './stats.ts'
import { verifyCommand } from './verify.ts'

const program = new Command('varve')
  .description('Looks inside a cache of Varve: what it holds, how large it is, whether every byte is sound.')
  .addHelpText('after', EXIT_HELP)
  .exitOverride()

for (const command of [statsCommand, lsCommand, getCommand, verifyCommand, compactCommand, filesCommand, doctorCommand]) {
  program.addCommand(command.exitOverride())
}

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? OK : USAGE
  else process.exitCode = await report(error, process.argv.includes('--json'))
}

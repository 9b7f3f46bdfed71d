#!/usr/bin/env node
/** `varve`: inspects and maintains caches. Each command has a file; this one combines them. */
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { clearCommand } from './clear.ts'
import { compactCommand } from './compact.ts'
import { type CommonOptions, report } from './command.ts'
import { diffCommand } from './diff.ts'
import { doctorCommand } from './doctor.ts'
import { EXIT_HELP, OK, USAGE } from './exit.ts'
import { exportCommand } from './export.ts'
import { filesCommand } from './files.ts'
import { trustShared } from './folder.ts'
import { gcCommand } from './gc.ts'
import { getCommand } from './get.ts'
import { historyCommand } from './history.ts'
import { importCommand } from './import.ts'
import { lsCommand } from './ls.ts'
import { isClosedPipe } from './output.ts'
import { layersCommand } from './layers.ts'
import { remoteCommand } from './remote.ts'
import { repairCommand } from './repair.ts'
import { sealCommand } from './seal.ts'
import { statsCommand } from './stats.ts'
import { topCommand } from './top.ts'
import { verifyCommand } from './verify.ts'
import { viewCommand } from './view.ts'
import { whyCommand } from './why.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string }

const program = new Command('varve')
  .version(version, '-V, --version', 'the version of varve')
  .description('Inspects, verifies, repairs and exports caches of Varve.')
  .addHelpText('after', EXIT_HELP)
  .exitOverride()
  .hook('preAction', (_, command) => {
    if (command.opts<CommonOptions>().shared === true) trustShared()
  })

const LOOKING = [
  viewCommand, statsCommand, historyCommand, layersCommand, topCommand, lsCommand, getCommand, whyCommand, diffCommand, exportCommand, verifyCommand,
  sealCommand, doctorCommand,
]
const CHANGING = [filesCommand, remoteCommand, importCommand, compactCommand, gcCommand, clearCommand, repairCommand]
for (const command of [...LOOKING, ...CHANGING]) {
  program.addCommand(command.exitOverride())
}

process.stdout.on('error', (error) => {
  if (isClosedPipe(error)) process.exit(OK)
  throw error
})

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? OK : USAGE
  else process.exitCode = await report(error, process.argv.includes('--json'))
}

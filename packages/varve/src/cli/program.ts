/** The commands of `varve`. Each has a file, and this one combines them. */
import { Command, CommanderError } from 'commander'
import { type CommonOptions, report } from './command.ts'
import { trustShared } from './open/folder.ts'
import { EXIT_HELP, OK, USAGE } from './output/escape.ts'

/** The commands, in the order of `--help`. A command line loads only the module of its command. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  view: async () => (await import('./view.ts')).viewCommand,
  stats: async () => (await import('./stats.ts')).statsCommand,
  history: async () => (await import('./stats.ts')).historyCommand,
  ls: async () => (await import('./ls.ts')).lsCommand,
  get: async () => (await import('./ls.ts')).getCommand,
  why: async () => (await import('./why.ts')).whyCommand,
  export: async () => (await import('./transfer.ts')).exportCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  files: async () => (await import('./files.ts')).filesCommand,
  remote: async () => (await import('./remote.ts')).remoteCommand,
  import: async () => (await import('./transfer.ts')).importCommand,
  clear: async () => (await import('./upkeep.ts')).clearCommand,
  estimate: async () => (await import('./estimate.ts')).estimateCommand,
  gc: async () => (await import('./upkeep.ts')).gcCommand,
  repair: async () => (await import('./upkeep.ts')).repairCommand,
}

/** Runs the command that the arguments name. */
export async function runProgram(version: string): Promise<void> {
  const program = new Command('varve')
    .version(version, '-V, --version', 'the version of varve')
    .description('Inspects, verifies, repairs and exports caches of Varve.')
    .addHelpText('after', EXIT_HELP)
    .exitOverride()
    .hook('preAction', (_, command) => {
      if (command.opts<CommonOptions>().shared === true) trustShared()
    })
  for (const load of loadersOf(process.argv[2])) program.addCommand((await load()).exitOverride())
  try {
    await program.parseAsync()
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? OK : USAGE
    else process.exitCode = await report(error, process.argv.includes('--json'))
  }
}

/** Loaders of the commands that the first argument needs: that of this name, otherwise all, for help and suggestions. */
function loadersOf(first: string | undefined): readonly (() => Promise<Command>)[] {
  const named = first === undefined || !Object.hasOwn(COMMANDS, first) ? undefined : COMMANDS[first]
  return named === undefined ? Object.values(COMMANDS) : [named]
}

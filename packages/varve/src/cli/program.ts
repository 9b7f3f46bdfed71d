/** The commands of `varve`. Each has a file, and this one combines them. */
import { Command, CommanderError } from 'commander'
import { type CommonOptions, report } from './command.ts'
import { EXIT_HELP, OK, USAGE } from './output/exit.ts'
import { trustShared } from './open/folder.ts'

/** The commands, in the order of `--help`. A command line loads only the module of its command. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  view: async () => (await import('./view.ts')).viewCommand,
  stats: async () => (await import('./stats.ts')).statsCommand,
  caches: async () => (await import('./caches.ts')).cachesCommand,
  history: async () => (await import('./history.ts')).historyCommand,
  watch: async () => (await import('./watch.ts')).watchCommand,
  layers: async () => (await import('./layers.ts')).layersCommand,
  top: async () => (await import('./top.ts')).topCommand,
  ls: async () => (await import('./ls.ts')).lsCommand,
  get: async () => (await import('./get.ts')).getCommand,
  why: async () => (await import('./why.ts')).whyCommand,
  diff: async () => (await import('./diff.ts')).diffCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  verify: async () => (await import('./verify.ts')).verifyCommand,
  seal: async () => (await import('./seal.ts')).sealCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  files: async () => (await import('./files.ts')).filesCommand,
  remote: async () => (await import('./remote.ts')).remoteCommand,
  import: async () => (await import('./import.ts')).importCommand,
  compact: async () => (await import('./compact.ts')).compactCommand,
  gc: async () => (await import('./gc.ts')).gcCommand,
  clear: async () => (await import('./clear.ts')).clearCommand,
  repair: async () => (await import('./repair.ts')).repairCommand,
  completions: async () => (await import('./completions.ts')).completionsCommand,
}

/** Commands that need all others. */
const NEED_ALL: ReadonlySet<string> = new Set(['completions'])

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
  const named =
    first === undefined || NEED_ALL.has(first) || !Object.hasOwn(COMMANDS, first) ? undefined : COMMANDS[first]
  return named === undefined ? Object.values(COMMANDS) : [named]
}

/** `varve completions <shell>`: a script that completes commands and options, made of the commands that `--help` lists. */
import { Argument, type Command } from 'commander'
import { command, type CommonOptions } from './command.ts'
import { bashScript } from './completions/bash.ts'
import { fishScript } from './completions/fish.ts'
import { type Shell, SHELLS, wordsOf } from './completions/words.ts'
import { zshScript } from './completions/zsh.ts'
import { write, writeJson } from './output/output.ts'

const SCRIPTS: Readonly<Record<Shell, typeof bashScript>> = { bash: bashScript, zsh: zshScript, fish: fishScript }

const NOTES = `
Load it in the startup file of the shell, where 'varve' is on the PATH:
  bash  eval "$(varve completions bash)"
  zsh   eval "$(varve completions zsh)"
  fish  varve completions fish | source`

export const completionsCommand: Command = command(
  'completions',
  'print a script that completes commands and options in a shell',
)
  .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
  .addHelpText('after', NOTES)
  .action(run)

async function run(shell: Shell, options: CommonOptions, { parent }: Command): Promise<void> {
  const script = SCRIPTS[shell](wordsOf(parent))
  if (options.json === true) return writeJson('completions', { shell, script })
  await write(script)
}

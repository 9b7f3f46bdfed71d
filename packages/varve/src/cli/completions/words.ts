/** What can be completed, taken from the commands themselves. */
import type { Command, Option } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** A command line up to a command: 'files ls'; '' is `varve` alone. */
export interface CommandWords {
  readonly path: string
  readonly description: string
  readonly commands: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly OptionWords[]
  /** Values of the first argument, if there are only some. */
  readonly values: readonly string[]
}

export interface OptionWords {
  /** With hyphens. */
  readonly long: string
  readonly short: string | undefined
  readonly description: string
  /** What follows it: nothing, a path, one of `values`, or any text. */
  readonly takes: 'nothing' | 'path' | 'value' | 'text'
  readonly values: readonly string[]
}

/** Every command below `program`, and the program itself first. */
export function wordsOf(program: Command | null): readonly CommandWords[] {
  return program === null ? [] : belowOf(program, '')
}

function belowOf(command: Command, path: string): CommandWords[] {
  const below = command.commands
  const options = command.options.map(optionOf)
  const own = {
    path,
    description: command.description(),
    commands: below.map((one) => ({ name: one.name(), description: one.description() })),
    options: [
      ...options,
      { long: '--help', short: '-h', description: 'display help for command', takes: 'nothing', values: [] } as const,
    ],
    values: command.registeredArguments[0]?.argChoices ?? [],
  }
  return [own, ...below.flatMap((one) => belowOf(one, `${path} ${one.name()}`.trim()))]
}

function optionOf({ long, short, description, flags, argChoices = [] }: Option): OptionWords {
  const value = /[<[](\w+)/.exec(flags)?.[1]
  const isPath = value === 'directory' || value === 'file'
  const takes = value === undefined ? 'nothing' : argChoices.length > 0 ? 'value' : isPath ? 'path' : 'text'
  return { long: long ?? '', short, description, takes, values: argChoices }
}

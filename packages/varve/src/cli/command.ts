/** Options and errors that all commands share. */
import { Command } from 'commander'
import { toVarveError } from '../errors.ts'
import { pathOf } from './open/entries.ts'
import { escapeText, EXIT_HELP, FAILED, isClosedPipe, NO_CACHE, OK, USAGE } from './output/escape.ts'
import { writeJson } from './output/output.ts'
import { paint } from './output/table.ts'

/** Errors that the caller of the command can fix. */
const USAGE_CODES: ReadonlySet<string> = new Set([
  'INVALID_OPTION',
  'INVALID_ARGUMENT',
  'KEY_TOO_LONG',
  'SECRET_MISSING',
])

/** Options of every command. */
export interface CommonOptions {
  readonly dir?: string
  readonly json?: boolean
  readonly shared?: boolean
}

/** Makes a command with the common options. */
export function command(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option(
      '--dir <directory>',
      'a cache directory, or a directory with caches directly in it (default: the caches of this project)',
      pathOf,
    )
    .option('--json', 'write one JSON value to standard output, and nothing else')
    .option('--shared', "trust a cache of another user, as with 'shared: true' of openCache")
    .addHelpText('after', EXIT_HELP)
}

/** Reports an error and returns the exit code. */
export async function report(error: unknown, isJson: boolean): Promise<number> {
  const { code, message, cause } = toVarveError(error)
  if (isClosedPipe(cause)) return OK
  if (isJson) await writeJson('error', { error: { code, message } })
  else
    process.stderr.write(
      `${paint('red', 'varve:', process.stderr)} ${message.split('\n').map(escapeText).join('\n')}\n`,
    )
  if (USAGE_CODES.has(code)) return USAGE
  return code === 'NOT_A_CACHE' ? NO_CACHE : FAILED
}

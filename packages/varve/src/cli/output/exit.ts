/** Exit codes of `varve`, and standard output that cannot be written to: its reader is gone, or its disk is full. */
import { escapeText } from './escape.ts'

/** Done; no problem was found. */
export const OK = 0
/** The answer is no: damage found, or no such key. */
export const NEGATIVE = 1
/** The command line is wrong. */
export const USAGE = 2
/** There is no cache in the directory. */
export const NO_CACHE = 3
/** The command failed. */
export const FAILED = 4

/** The end of each `--help`. */
export const EXIT_HELP = `
Exit codes:
  0  done, no problem found
  1  damage found (repair --check, doctor, remote doctor, remote verify), damage left (repair), or no such key or id (get, why, files restore)
  2  the command line is wrong
  3  there is no cache in that directory
  4  failed, for example: no access, no engine, disk full, remote not available`

/** Call this before anything is written. Without output a command ends; without messages it goes on, and its exit code has the outcome. */
export function watchStreams(): void {
  process.stdout.on('error', (error) => {
    if (isClosedPipe(error)) process.exit(OK)
    process.stderr.write(`varve: cannot write to standard output: ${escapeText(error.message)}\n`)
    process.exit(FAILED)
  })
  process.stderr.on('error', () => {})
}

/** Whether the reader of standard output has closed it, as `head` does once it has enough. */
export function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}

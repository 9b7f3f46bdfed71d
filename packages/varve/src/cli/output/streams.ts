/** Standard output and standard error that cannot be written to: their reader is gone, or their disk is full. */
import { escapeText } from './escape.ts'
import { FAILED, OK } from './exit.ts'

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

/** A progress bar on standard error while a long call runs, and Ctrl-C to stop it. */
import type { SingleBar } from 'cli-progress'
import type { EngineControl } from '../../engine/engine.ts'
import { size } from './output.ts'

/**
 * Runs `call` with a progress bar `title` if standard error is a terminal. The first Ctrl-C stops the call cleanly, a
 * second one ends the process.
 */
export function withProgress<T>(title: string, call: (control: EngineControl) => Promise<T>): Promise<T> {
  return withBar(title, size, call)
}

/** Shows a bar for a call that counts things, not bytes. */
export function withCount<T>(title: string, call: (control: EngineControl) => Promise<T>): Promise<T> {
  return withBar(title, String, call)
}

async function withBar<T>(
  title: string,
  format: (value: number) => string,
  call: (control: EngineControl) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const interrupt = (): void => stop.abort()
  process.once('SIGINT', interrupt)
  const bar = process.stderr.isTTY ? await makeBar(title, format) : undefined
  let isShown = false
  const onProgress = (done: number, total: number): void => {
    if (!isShown) bar?.start(total, done)
    isShown = true
    bar?.setTotal(total)
    bar?.update(done)
  }
  try {
    return await call({ signal: stop.signal, onProgress })
  } finally {
    bar?.stop()
    process.off('SIGINT', interrupt)
  }
}

async function makeBar(title: string, format: (value: number) => string): Promise<SingleBar> {
  const { SingleBar } = await import('cli-progress') // loaded for terminals only
  return new SingleBar({
    format: `${title} [{bar}] {percentage} % of {total}`,
    formatValue: (value, _options, type) => (type === 'total' ? format(value) : String(value)),
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  })
}

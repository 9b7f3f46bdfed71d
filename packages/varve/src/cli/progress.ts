/** A progress bar on standard error while a long call runs, and Ctrl-C to stop it. */
import { SingleBar } from 'cli-progress'
import type { WatchOptions } from '../options.ts'
import { size } from './output.ts'

/**
 * Runs `call` with a bar called `title` where standard error is a terminal. The first Ctrl-C stops the call cleanly, a
 * second one ends the process.
 */
export async function withProgress<T>(title: string, call: (watch: WatchOptions) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const interrupt = (): void => stop.abort()
  process.once('SIGINT', interrupt)
  const bar = process.stderr.isTTY ? makeBar(title) : undefined
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

function makeBar(title: string): SingleBar {
  return new SingleBar({
    format: `${title} [{bar}] {percentage} % of {total}`,
    formatValue: (value, _options, type) => (type === 'total' ? size(value) : String(value)),
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  })
}

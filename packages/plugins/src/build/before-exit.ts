/** Closes the caches of tools that never close them themselves: a cache publishes to its remote, and a build is reported, when it is closed. */

/** What has to be closed. */
export interface Closable {
  close(): Promise<void>
}

const open: Set<Closable> = new Set()

/** Closes `one` when the process has nothing else to do. A process that calls `process.exit()` does not close it. */
export function closeBeforeExit(one: Closable): void {
  if (open.size === 0) process.once('beforeExit', closeAll)
  open.add(one)
}

/** Call after `one` was closed. */
export function isClosed(one: Closable): void {
  open.delete(one)
  if (open.size === 0) process.off('beforeExit', closeAll)
}

function closeAll(): void {
  for (const one of open) void one.close()
  open.clear()
}

/** Work on many objects, a few at a time. */

/** Requests at one time: enough to fill a connection of 100 MB/s at 60 ms. */
const AT_ONCE = 8

/**
 * Runs `work` for all items, at most eight at a time. After a failure no further item begins; the call rejects when those that had begun
 * have ended, so that none of them writes to a directory that the caller removes.
 */
export async function forEachAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items].values()
  const failures: unknown[] = []
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (failures.length > 0) return
      await work(item).catch((error: unknown) => void failures.push(error))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  if (failures.length > 0) throw failures[0]
}

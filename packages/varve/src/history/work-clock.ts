/**
 * Measures what each of several works costs while they run at the same time. Time in which several run counts for each in
 * equal parts, so all costs together never exceed the time that passed.
 */

let running = 0
/** Milliseconds that a work would have cost that ran from the beginning of the process. */
let shareMs = 0
let lookedMs = 0

/**
 * Begins a work of this thread, for `BuildCounts.savedMs`. The returned function ends it and returns its cost in
 * milliseconds, to a tenth. Call it once, also if the work fails.
 */
export function startWork(): () => number {
  const startMs = look()
  running += 1
  return () => {
    const costMs = look() - startMs
    running -= 1
    return Math.round(costMs * 10) / 10
  }
}

function look(): number {
  const nowMs = performance.now()
  if (running > 0) shareMs += (nowMs - lookedMs) / running
  lookedMs = nowMs
  return shareMs
}

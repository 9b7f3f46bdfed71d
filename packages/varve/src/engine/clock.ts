/** The time by which WebAssembly orders commits; the addon asks the system. */

import { nowMs, runningMs } from '../host/now.ts'

let offsetMs = nowMs() - runningMs()

/**
 * Microseconds since 1970. `Date.now()` gives the millisecond, even after the system's clock was set;
 * `performance.now()` gives the fraction.
 */
export function nowUs(): number {
  const ms = nowMs()
  const running = runningMs()
  const exactMs = Math.min(Math.max(offsetMs + running, ms), ms + 0.999)
  offsetMs = exactMs - running
  return Math.floor(exactMs * 1000)
}

/** The time by which WebAssembly orders commits; the addon asks the system. */

import { nowMs } from '../host/now.ts'

let offsetMs = performance.timeOrigin

/**
 * Microseconds since 1970. `Date.now()` gives the millisecond, even after the system's clock was set;
 * `performance.now()` gives the fraction.
 */
export function nowUs(): number {
  const ms = nowMs()
  const runningMs = performance.now()
  const exactMs = Math.min(Math.max(offsetMs + runningMs, ms), ms + 0.999)
  offsetMs = exactMs - runningMs
  return Math.floor(exactMs * 1000)
}

/** The time by which WebAssembly orders commits; the addon asks the system. */

let offsetMs = performance.timeOrigin

/**
 * Microseconds since 1970. `Date.now()` gives the millisecond, even after the system's clock was set;
 * `performance.now()` gives the fraction.
 */
export function nowUs(): number {
  const [ms, runningMs] = [Date.now(), performance.now()]
  const nowMs = Math.min(Math.max(offsetMs + runningMs, ms), ms + 0.999)
  offsetMs = nowMs - runningMs
  return Math.floor(nowMs * 1000)
}

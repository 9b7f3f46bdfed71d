/** Milliseconds since 1970, as a whole number. Programs replace `Date.now`, in tests above all, by functions that return anything. */
export function nowMs(): number {
  for (const ms of [Date.now(), performance.timeOrigin + performance.now()]) {
    const whole = Math.floor(ms)
    if (Number.isSafeInteger(whole) && whole >= 0) return whole
  }
  return 0
}

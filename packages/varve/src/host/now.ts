/** The time. Programs replace its functions, in tests above all, by those that return anything, or remove them. */

/** Milliseconds since 1970, as a whole number; 0 if the program has no clock. */
export function nowMs(): number {
  for (const clock of [() => Date.now(), () => performance.timeOrigin + performance.now()]) {
    const whole = Math.floor(numberOf(clock))
    if (Number.isSafeInteger(whole) && whole >= 0) return whole
  }
  return 0
}

/** Milliseconds that only differences are made of; always 0 if the program has no such clock. */
export function runningMs(): number {
  const ms = numberOf(() => performance.now())
  return Number.isFinite(ms) ? ms : 0
}

function numberOf(clock: () => unknown): number {
  try {
    const ms = clock()
    return typeof ms === 'number' ? ms : Number.NaN
  } catch {
    return Number.NaN
  }
}

/** Values that may be promises. */

/** Calls `answer` with a value, or with the result of a promise. */
export function settle(value: unknown, answer: (value: unknown) => void): void {
  if (value instanceof Promise) value.then(answer, () => answer(undefined))
  else answer(value)
}

/** The code of an error. In a `vm` context, as Jest makes one, errors of Node are no instances of the context's `Error`. */
export function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

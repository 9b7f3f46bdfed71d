/** The code of an error. In a `vm` context, as Jest makes one, errors of Node are no instances of the context's `Error`. */
export function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

/** The system's code of a failed connection: messages of other layers may contain the address with its query. */
export function transportCode(error: unknown): string {
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 5; at = Reflect.get(at, 'cause'), depth++) {
    const code = codeOf(at)
    if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return code
  }
  return 'the connection failed'
}

/** Codes of errors that are none of Varve. */
import { VarveError } from 'varve'

/** The code of an error. In a `vm` context, as Jest makes one, errors of Node are no instances of the context's `Error`. */
export function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

/** What did not happen in time, as the `cause` of an error: waiting longer may help, unlike after other failures. */
export class Timeout extends Error {
  override readonly name = 'TimeoutError'
}

/** The system's code of a failed connection: messages of other layers may contain the address with its query. */
export function transportCode(error: unknown): string {
  for (
    let at = error, depth = 0;
    typeof at === 'object' && at !== null && depth < 5;
    at = Reflect.get(at, 'cause'), depth++
  ) {
    const code = codeOf(at)
    if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return code
  }
  return 'the connection failed'
}

/** A failed file operation in `dir` as a VarveError. */
export function ioError(error: unknown, dir: string): unknown {
  if (
    error instanceof VarveError ||
    typeof error !== 'object' ||
    error === null ||
    !('syscall' in error && 'message' in error)
  )
    return error
  const code = codeOf(error)
  const kind =
    code === 'ENOSPC' || code === 'EDQUOT'
      ? 'DISK_FULL'
      : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
        ? 'PERMISSION'
        : 'IO'
  return new VarveError(kind, `cannot write layers to '${dir}': ${String(error.message)}`, { cause: error })
}

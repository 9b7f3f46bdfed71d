/** Errors of files that a command writes. */
import { toVarveError, VarveError } from '../../errors.ts'

/** The error for a failed write: it names the path that the user gave, and the cause in the words of the system. */
export function cannotWrite(path: string, error: unknown): VarveError {
  const failure = toVarveError(error)
  const cause = failure.cause instanceof Error ? failure.cause : failure
  const code = 'code' in cause ? cause.code : undefined
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new VarveError('PERMISSION', `cannot write '${path}': ${cause.message}`, { cause })
  }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new VarveError('DISK_FULL', `cannot write '${path}': ${cause.message}`, { cause })
  const isOfSystem = typeof code === 'string' && 'syscall' in cause
  return isOfSystem || failure.code === 'INTERNAL'
    ? new VarveError('IO', `cannot write '${path}': ${cause.message}`, { cause })
    : failure
}

/** What the hosts of the WebAssembly engine share: errors as numbers in Linux numbering, as `crates/wasm/src/host.rs` reads them, and the clock. */
import { errorCode } from '../host/permission.ts'
import { nowMs, runningMs } from '../host/own.ts'

const ERRNO: Readonly<Record<string, number>> = {
  EPERM: 1,
  ENOENT: 2,
  EINTR: 4,
  EIO: 5,
  EAGAIN: 11,
  EACCES: 13,
  EBUSY: 16,
  EEXIST: 17,
  EXDEV: 18,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  ENFILE: 24,
  EMFILE: 24,
  EFBIG: 27,
  ENOSPC: 28,
  EROFS: 30,
  ENAMETOOLONG: 36,
  ENOSYS: 38,
  ELOOP: 22,
  ENXIO: 22,
  ENOTSUP: 95,
  EOPNOTSUPP: 95,
  EDQUOT: 122,
}

export const FORBIDDEN = -1
export const NOT_FOUND = -2
export const REFUSED = -13
export const READ_ONLY = -30
export const NO_FOLDER = -20
export const EXISTS = -17
export const INVALID = -22
/** No descriptor is left. */
export const FULL = -24
export const UNSUPPORTED = -95
export const NO_SPACE = -28
const IO = -5

/** -errno of whatever a file operation threw. */
export function errnoOf(error: unknown): number {
  const code = errorCode(error)
  const number = typeof code === 'string' ? ERRNO[code] : undefined
  return number === undefined ? IO : -number
}

// The clock by which WebAssembly orders commits; the addon asks the system.

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

/**
 * The error class of the library. Programs use `code`, which is stable; `message` names the field, the value and the fix
 * for people. `cause` holds what the engine threw.
 */

import { codeOf, errorCode } from './host/permission.ts'

/** Why a call failed. Codes keep their meaning; releases may add new ones. */
export type ErrorCode =
  /** An option of `openCache`, `namespace` or a command is unknown, of the wrong type or out of range. */
  | 'INVALID_OPTION'
  /** A key, value or other argument of a call is of the wrong type. */
  | 'INVALID_ARGUMENT'
  /** A key is longer than 65,535 bytes. */
  | 'KEY_TOO_LONG'
  /** A value is longer than the format can hold, or a file is longer than 2 GiB. */
  | 'VALUE_TOO_LONG'
  /** The cache was closed. */
  | 'CLOSED'
  /** The cache was opened with `readOnly: true`. */
  | 'READ_ONLY'
  /** The operating system denies access to the cache directory. */
  | 'PERMISSION'
  /** No space is left on the device, or a quota is used up. Earlier commits are safe. */
  | 'DISK_FULL'
  /** Another file operation failed. */
  | 'IO'
  /** Bytes do not match their checksum, and the cache was opened with `strict: true`. */
  | 'DAMAGED'
  /** A content that a manifest names is missing or damaged: treat the manifest as a miss. */
  | 'FILES_DAMAGED'
  /** A newer version of Varve wrote the cache directory, in a format that this one cannot read. */
  | 'NEWER_FORMAT'
  /** The caller's `signal` was aborted. Committed entries are unchanged. */
  | 'CANCELLED'
  /** Other processes changed the cache faster than this call could follow, or WebAssembly runs an `onProgress` of it; try again. */
  | 'BUSY'
  /** The cache has used up its numbers of writers or commits, or has 10,000 namespaces, with or without entries. */
  | 'EXHAUSTED'
  /** A path in a manifest, directory or archive would leave its root, or is not a unique name on every system. */
  | 'UNSAFE_PATH'
  /** An archive is damaged, too large, or contains refused entries: links, devices, sparse files. */
  | 'BAD_ARCHIVE'
  /** The requested engine cannot be loaded here. */
  | 'ENGINE_UNAVAILABLE'
  /** A secret is required, or `VARVE_SECRET` is empty (as a warning). See option `requireSecret`. */
  | 'SECRET_MISSING'
  /** The directory has files with names of a cache that Varve did not write. In the command line, also: it contains no cache. */
  | 'NOT_A_CACHE'
  /** Varve cannot see what the work of a task reads, so its results are not stored (as a warning). See option `trackReads`. */
  | 'UNTRACKED'
  /** Work of a task waits for itself, directly or through others; see `TaskCycleError`. */
  | 'TASK_CYCLE'
  /** A remote does not answer in time, or answers with an error (`@varve/remote`). */
  | 'REMOTE_UNAVAILABLE'
  /** A remote refuses the credentials, or they do not allow the request. */
  | 'REMOTE_DENIED'
  /** What a remote has is not signed by a trusted key, is for another scope, older than what was read before, or damaged. */
  | 'REMOTE_UNTRUSTED'
  /** A bug in the engine. The host continues; please report it. */
  | 'INTERNAL'

const KNOWN: Record<ErrorCode, true> = {
  INVALID_OPTION: true,
  INVALID_ARGUMENT: true,
  KEY_TOO_LONG: true,
  VALUE_TOO_LONG: true,
  CLOSED: true,
  READ_ONLY: true,
  PERMISSION: true,
  DISK_FULL: true,
  IO: true,
  DAMAGED: true,
  FILES_DAMAGED: true,
  NEWER_FORMAT: true,
  CANCELLED: true,
  BUSY: true,
  EXHAUSTED: true,
  UNSAFE_PATH: true,
  BAD_ARCHIVE: true,
  ENGINE_UNAVAILABLE: true,
  SECRET_MISSING: true,
  NOT_A_CACHE: true,
  UNTRACKED: true,
  TASK_CYCLE: true,
  REMOTE_UNAVAILABLE: true,
  REMOTE_DENIED: true,
  REMOTE_UNTRUSTED: true,
  INTERNAL: true,
}

/**
 * What every call of the library throws or rejects with.
 *
 * @example
 * try {
 *   await cache.commit()
 * } catch (error) {
 *   if (error instanceof VarveError && error.code === 'DISK_FULL') return // the build continues without a cache
 *   throw error
 * }
 */
export class VarveError extends Error {
  override name: string = 'VarveError' // a field, because an assignment fails if the program has frozen the prototype of errors
  /** Stable identifier for programs. */
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** A run of a task. */
export interface TaskStep {
  readonly task: string
  /** The id of the run, relative to the root. */
  readonly id: string
}

/** Most runs that the message of a cycle shows. */
const STEPS_SHOWN = 10

/** The work of a task waits for itself: it requests its own run, directly or through other work that it waits for. */
export class TaskCycleError extends VarveError {
  /** The run, the run that it waits for, and so on, up to the first run again. */
  readonly chain: readonly TaskStep[]

  constructor(chain: readonly TaskStep[]) {
    const shown = chain.map(({ task, id }) => `${task} '${id}'`)
    if (shown.length > STEPS_SHOWN) shown.splice(STEPS_SHOWN - 2, shown.length - STEPS_SHOWN + 1, '...')
    super(
      'TASK_CYCLE',
      `a task waits for itself: ${shown.join(' -> ')}. Await one of these runs outside of the work, or not at all`,
    )
    this.chain = chain
  }
}

/** What failures of the system are called; all others are IO. */
const SYSTEM: ReadonlyMap<unknown, ErrorCode> = new Map([
  ['EACCES', 'PERMISSION'],
  ['EPERM', 'PERMISSION'],
  ['EROFS', 'PERMISSION'],
  ['ENOSPC', 'DISK_FULL'],
  ['EDQUOT', 'DISK_FULL'],
  ['EFBIG', 'DISK_FULL'],
])

/** Makes a VarveError from what an engine threw, with its code if that is an ErrorCode, otherwise with INTERNAL. */
export function toVarveError(error: unknown): VarveError {
  if (error instanceof VarveError) return error
  const code = codeOf(error)
  const text = textOf(error)
  if (isErrorCode(code)) return new VarveError(code, text, { cause: error })
  const system = SYSTEM.get(errorCode(error)) ?? (isOfSystem(error) ? 'IO' : undefined)
  if (system !== undefined) return new VarveError(system, text, { cause: error })
  return new VarveError('INTERNAL', `internal error: ${text}`, { cause: error })
}

/** Whether an operation of the system failed, such as opening a file. */
function isOfSystem(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'syscall' in error
}

function textOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error)
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(KNOWN, code)
}

/** The error for a path that is not stored. */
export function refused(path: string, problem: string): VarveError {
  return new VarveError('UNSAFE_PATH', `${JSON.stringify(path)} is refused: it ${problem}`)
}

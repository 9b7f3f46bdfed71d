/**
 * The one error of the library. Programs decide by `code`, which is stable; people read `message`, which names the
 * field, the value and the way out. What the engine threw is kept as `cause`.
 */

import { errorCode } from './host/permission.ts'

/** Why a call failed. Codes are stable: a new one may appear, an old one keeps its meaning. */
export type ErrorCode =
  /** An option of `openCache`, `namespace` or a command is unknown, of the wrong type or out of range. */
  | 'INVALID_OPTION'
  /** A key, value or other argument of a call is of the wrong type. */
  | 'INVALID_ARGUMENT'
  /** A key is longer than 65,535 bytes. */
  | 'KEY_TOO_LONG'
  /** A value is longer than the format can hold. */
  | 'VALUE_TOO_LONG'
  /** The cache was closed. */
  | 'CLOSED'
  /** The cache was opened with `readOnly: true`. */
  | 'READ_ONLY'
  /** The operating system forbids access to the folder. */
  | 'PERMISSION'
  /** No space left, or a quota is used up. What was committed before is safe. */
  | 'DISK_FULL'
  /** Another file operation failed. */
  | 'IO'
  /** Bytes do not match their checksum, where the caller asked for damage as an error. */
  | 'DAMAGED'
  /** A content that a manifest names is missing or not what it was: take the manifest as a miss. */
  | 'FILES_DAMAGED'
  /** The folder was written by a newer format. */
  | 'NEWER_FORMAT'
  /** The caller's `signal` asked to stop. Nothing committed was changed. */
  | 'CANCELLED'
  /** Other processes changed the folder faster than this call could follow; try again. */
  | 'BUSY'
  /** The folder has used up its numbers of writers or commits. */
  | 'EXHAUSTED'
  /** A path of a manifest, folder or archive would leave its root, or is not a name of its own on every system. */
  | 'UNSAFE_PATH'
  /** An archive is damaged, too large, or holds what is refused: links, devices, sparse files. */
  | 'BAD_ARCHIVE'
  /** The engine that was asked for cannot be loaded here. */
  | 'ENGINE_UNAVAILABLE'
  /** A secret is required, or `VARVE_SECRET` is empty (as a warning). See option `requireSecret`. */
  | 'SECRET_MISSING'
  /** There is no cache in the folder (command line only: the library makes one). */
  | 'NOT_A_CACHE'
  /** What work of a task reads cannot be seen, so its results are not stored (as a warning). See the option `trackReads`. */
  | 'UNTRACKED'
  /** Work of a task waits for itself, directly or through others; see `TaskCycleError`. */
  | 'TASK_CYCLE'
  /** A bug of the engine. The host goes on; please report it. */
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
  INTERNAL: true,
}

/**
 * What every call of the library throws or rejects with.
 *
 * @example
 * try {
 *   await cache.commit()
 * } catch (error) {
 *   if (error instanceof VarveError && error.code === 'DISK_FULL') return // the build goes on without
 *   throw error
 * }
 */
export class VarveError extends Error {
  /** Stable word for programs. */
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'VarveError'
    this.code = code
  }
}

/** A run of a task. */
export interface TaskStep {
  readonly task: string
  /** As `task.run` was given it, relative to the root. */
  readonly id: string
}

/** Runs shown in the message of a cycle. */
const STEPS_SHOWN = 10

/** The work of a task waits for itself: it, or work that it waits for, asks for the run that it belongs to. */
export class TaskCycleError extends VarveError {
  /** The run, what it waits for, what that waits for, and so on, up to the run itself. */
  readonly chain: readonly TaskStep[]

  constructor(chain: readonly TaskStep[]) {
    const shown = chain.map(({ task, id }) => `${task} '${id}'`)
    if (shown.length > STEPS_SHOWN) shown.splice(STEPS_SHOWN - 2, shown.length - STEPS_SHOWN + 1, '...')
    super('TASK_CYCLE', `a task waits for itself: ${shown.join(' -> ')}; await one of these runs outside of the work, or not at all`)
    this.chain = chain
  }
}

/** Makes a VarveError of whatever an engine threw. Its code is kept where it is one of ours, else it is `INTERNAL`. */
export function toVarveError(error: unknown): VarveError {
  if (error instanceof VarveError) return error
  if (!(error instanceof Error)) return new VarveError('INTERNAL', `the engine failed: ${String(error)}`, { cause: error })
  const code: unknown = 'code' in error ? error.code : undefined
  if (isErrorCode(code)) return new VarveError(code, error.message, { cause: error })
  if (errorCode(error) === 'EACCES') return new VarveError('PERMISSION', error.message, { cause: error })
  return new VarveError('INTERNAL', `the engine failed: ${error.message}`, { cause: error })
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(KNOWN, code)
}

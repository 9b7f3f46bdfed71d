/** The directories above one, as far as no other user can plant anything in them. */
import type * as fs from 'node:fs'
import type * as path from 'node:path'
import { errorCode } from '../host/permission.ts'

/** A directory and those above it, the nearest first, until one that all users may write to or that the host hides. */
export function* upward(folder: string, files: typeof fs, paths: typeof path): Generator<string> {
  for (let at = folder; modeOf(at, files) === 'own'; at = paths.dirname(at)) {
    yield at
    if (paths.dirname(at) === at) return
  }
}

/** 'shared': all users may create files in `folder`, which is sticky, as /tmp. 'hidden': the host hides it from this process. */
export function modeOf(folder: string, files: typeof fs): 'own' | 'shared' | 'hidden' {
  try {
    const mode = files.statSync(folder, { throwIfNoEntry: false })?.mode ?? 0
    return (mode & 0o1002) === 0o1002 ? 'shared' : 'own'
  } catch (error) {
    if (errorCode(error) === 'EACCES') return 'hidden'
    throw error
  }
}

/** Whether a path exists; false also if the host refuses to look. */
export function isThere(path: string, files: typeof fs): boolean {
  try {
    return files.existsSync(path)
  } catch {
    return false
  }
}

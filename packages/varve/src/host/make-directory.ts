/**
 * Making directories. The recursion of `node:fs` has no end where a directory exists and nothing can be made in it although the system
 * answers ENOENT, as in `/proc/self/fd` and in a removed directory. Here each directory is tried twice at most.
 */
import type * as fs from 'node:fs'
import { errorCode } from './permission.ts'

/** Makes a directory and those above it that do not exist. Throws what the system answers. */
export function makeDirectory(files: typeof fs, folder: string, mode = 0o777): void {
  const missing: string[] = []
  let at = folder
  while (!isMade(files, at, mode)) {
    missing.push(at)
    const above = parentOf(at)
    if (above === at) break
    at = above
  }
  for (const each of missing.toReversed()) {
    if (!isMade(files, each, mode)) throw notMade(each)
  }
}

/** Whether the directory exists now; false if the one above it does not. */
function isMade(files: typeof fs, folder: string, mode: number): boolean {
  try {
    files.mkdirSync(folder, { mode })
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    if (isDirectory(files, folder)) return true
    throw error
  }
}

function isDirectory(files: typeof fs, path: string): boolean {
  try {
    return files.statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** The directory that a path is in, with either separator; the path itself if it has none above. */
function parentOf(path: string): string {
  const trimmed = path.replace(/(?<=[^/\\:])[/\\]+$/, '')
  const end = Math.max(trimmed.lastIndexOf('/'), trimmed.lastIndexOf('\\'))
  if (end < 0) return path
  return end === 0 || trimmed[end - 1] === ':' ? trimmed.slice(0, end + 1) : trimmed.slice(0, end)
}

function notMade(folder: string): Error {
  const text = `ENOENT: no directory can be made here, mkdir '${folder}'`
  return Object.assign(new Error(text), { code: 'ENOENT', syscall: 'mkdir', path: folder })
}

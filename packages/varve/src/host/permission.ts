/**
 * What the system permits: errors, variables, users and directories. Node.js with `--permission`, and Deno, deny files, variables and more to
 * the whole program, with their own errors. Varve treats such an error like EACCES: the directory cannot be used, and the build continues.
 */
import type * as fs from 'node:fs'
import { ownEnv } from './own.ts'

/** The part of Deno's interface that is used. */
interface DenoPermissions {
  querySync(wanted: { readonly name: 'read' | 'write'; readonly path: string }): {
    readonly state: 'granted' | 'denied' | 'prompt'
  }
}

/** The code of an error. In a `vm` context, as Jest makes one, errors of Node are no instances of the context's `Error`. */
export function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

/** The error code of a system call; a refusal of the host counts as EACCES. */
export function errorCode(error: unknown): unknown {
  return isRefusal(error) ? 'EACCES' : codeOf(error)
}

/** Whether the host, and not the operating system, refuses an access. */
export function isRefusal(error: unknown): boolean {
  return (
    codeOf(error) === 'ERR_ACCESS_DENIED' ||
    (typeof error === 'object' && error !== null && 'name' in error && error.name === 'NotCapable')
  )
}

/** Why the host refuses to read or write what is in `folder`, and how to allow it; undefined if it does not. */
export function refusal(
  action: 'read' | 'write',
  folder: string,
): { readonly why: string; readonly fix: string } | undefined {
  const flag = refusingFlag(action, `${folder}/file`)
  if (flag === undefined) return undefined
  const why = `this process runs without the permission to ${action} '${folder}'`
  return { why, fix: `allow it with ${flag}=${folder}${flag.includes('fs') ? '/*' : ''}` }
}

function refusingFlag(action: 'read' | 'write', file: string): string | undefined {
  const { permission } = globalThis.process ?? {}
  if (permission !== undefined) return permission.has(`fs.${action}`, file) ? undefined : `--allow-fs-${action}`
  const deno: { readonly permissions?: DenoPermissions } | undefined = Reflect.get(globalThis, 'Deno')
  // Deno would prompt the user here; a cache is not worth a prompt.
  const state = deno?.permissions?.querySync({ name: action, path: file }).state ?? 'granted'
  return state === 'granted' ? undefined : `--allow-${action}`
}

/** Whether the host refuses every fsync, as Node.js does with `--permission`, whatever may be written. */
export function isSyncRefused(files: Pick<typeof fs, 'fsyncSync'>): boolean {
  try {
    files.fsyncSync(-1) // the permission is checked before the number of the file
    return false
  } catch (error) {
    return errorCode(error) === 'EACCES'
  }
}

/** An environment variable; undefined also if this process may not read it. */
export function variable(name: string): string | undefined {
  return allowed(() => (globalThis.process === undefined ? undefined : ownEnv()[name]))
}

/** The effective user; 'unknown' if this process may not query it, undefined if the system has none. */
export function userHere(): number | 'unknown' | undefined {
  const answer = allowed(() => ({ user: globalThis.process?.geteuid?.() }))
  return answer === undefined ? 'unknown' : answer.user
}

/** The result of `ask`; undefined if the host refuses. */
function allowed<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch (error) {
    if (errorCode(error) === 'EACCES') return undefined
    throw error
  }
}

// Directories: the recursion of `node:fs` has no end where a directory exists and nothing can be made in it although the system
// answers ENOENT, as in `/proc/self/fd` and in a removed directory. Here each directory is tried twice at most.

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

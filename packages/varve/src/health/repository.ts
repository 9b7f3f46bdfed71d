/**
 * The directory of a Git repository that all its worktrees share:
 *
 *   main/.git                                 a directory                                              -> main/.git
 *   feature/.git                              a file, `gitdir: /home/me/main/.git/worktrees/feature`, and there
 *   main/.git/worktrees/feature/commondir     a file, `../..`                                          -> main/.git
 *
 * A cache in it is outside every working tree: it serves all of them, and `npm ci` and `git clean` leave it alone.
 */
import type * as fs from 'node:fs'
import type * as path from 'node:path'
import { builtin } from '../host/builtin.ts'
import { isThere, upward } from './upward.ts'

/** Git writes shorter files. */
const BYTES_MAX = 4096

/**
 * Absolute path of the directory of a Git repository that all its worktrees share, such as `/home/me/app/.git`, for a directory
 * in one of them; undefined outside a repository. Touches nothing.
 */
export function gitDirectory(folder: string): string | undefined {
  const [files, paths] = [builtin('node:fs'), builtin('node:path')]
  if (files === undefined || paths === undefined) return undefined
  for (const at of upward(folder, files, paths)) {
    const named = paths.join(at, '.git')
    if (!isThere(named, files)) continue
    const own = target(at, named, /^gitdir: (.+)$/, files, paths) ?? named
    const shared = target(own, paths.join(own, 'commondir'), /^(.+)$/, files, paths) ?? own
    if (isThere(paths.join(shared, 'HEAD'), files)) return shared
  }
  return undefined
}

/** The path in the one line of a file of Git, which is relative to `folder`; undefined if there is no such file. */
function target(folder: string, file: string, line: RegExp, files: typeof fs, paths: typeof path): string | undefined {
  try {
    const { size } = files.statSync(file)
    if (size === 0 || size > BYTES_MAX) return undefined
    const found = line.exec(files.readFileSync(file, 'utf8').trimEnd())?.[1]
    return found === undefined ? undefined : paths.resolve(folder, found)
  } catch {
    return undefined
  }
}

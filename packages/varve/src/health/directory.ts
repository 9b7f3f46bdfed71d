/**
 * The location of a cache. The first of these that is set decides:
 *
 *   1. option `dir`   -> that directory itself; with 'git', <shared directory of the repository>/varve/<name>
 *   2. `VARVE_DIR`    -> <VARVE_DIR>/<name>: for CI, the caches of all tools that name none, in one place; 'git' as above
 *   3. `CACHE_DIR`    -> <CACHE_DIR>/varve/<name>, unless it is true, false, 0 or 1 (as find-cache-dir has it)
 *   4. package.json   -> node_modules/.cache/varve/<name> beside the nearest one, upward of the working directory
 *                        (.yarn/.cache or .pnp/.cache where Yarn keeps no node_modules)
 *   5. none           -> .cache/varve/<name> in the working directory
 *
 * 'git' outside a repository counts as not set, so that a project builds in a container that has no `.git`.
 * Never a directory that all users may write to, such as /tmp: another user could plant a package.json and a cache there.
 */
import type * as fs from 'node:fs'
import type * as path from 'node:path'
import { builtin } from '../host/builtin.ts'
import { VarveError } from '../errors.ts'
import { variable } from '../host/permission.ts'
import { isThere, modeOf, upward } from './trust.ts'

/** In place of a directory: the one that all worktrees of the repository share. */
export const GIT = 'git'

/** There is no directory for the cache: none is set, and Varve cannot choose one. */
export class NoPlace extends VarveError {
  constructor(message: string) {
    super('INVALID_OPTION', message)
  }
}

/** The path by which a cache in memory is known; there is no such directory. */
export function memoryDirectory(name: string): string {
  checkName(name)
  return `/varve/${name}`
}

/** Absolute path of the directory of the cache `name`; `dir` is the option. Touches nothing. */
export function cacheDirectory(name: string, dir?: string): string {
  checkName(name)
  const paths = builtin('node:path')
  if (paths === undefined) return dir ?? memoryDirectory(name)
  if (dir === undefined || dir === GIT) return paths.join(cachesDirectory(dir), name)
  return paths.isAbsolute(dir) ? paths.resolve(dir) : paths.resolve(workingDirectory(), dir)
}

/** Absolute path of the directory for the caches of all tools without option `dir`, or with `'git'`. Touches nothing. */
export function cachesDirectory(dir?: typeof GIT): string {
  const paths = builtin('node:path')
  const files = builtin('node:fs')
  if (paths === undefined || files === undefined) return '/varve'
  const named = [dir, variable('VARVE_DIR')].map((one) => (one === GIT ? gitCaches(paths) : one)).find(isSet)
  if (named !== undefined)
    return paths.isAbsolute(named) ? paths.resolve(named) : paths.resolve(workingDirectory(), named)
  const cwd = workingDirectory()
  const shared = variable('CACHE_DIR')
  if (isSet(shared) && !['true', 'false', '0', '1'].includes(shared)) return paths.resolve(cwd, shared, 'varve')
  const root = packageRoot(cwd, files, paths)
  if (root !== undefined) return paths.join(root, cacheFolder(), 'varve')
  const mode = modeOf(cwd, files)
  if (mode !== 'own') {
    const why = mode === 'shared' ? 'all users may write there' : 'this process may not read there'
    throw new NoPlace(`no package.json upward of '${cwd}', and ${why}; set option 'dir' or VARVE_DIR to a directory`)
  }
  return paths.join(cwd, '.cache', 'varve')
}

/** Absolute path of the project: the directory of the nearest package.json above the working directory, otherwise that one. */
export function projectDirectory(): string {
  const paths = builtin('node:path')
  const files = builtin('node:fs')
  const cwd = workingDirectory()
  const root = paths === undefined || files === undefined ? undefined : packageRoot(cwd, files, paths)
  return root ?? cwd
}

/** Throws INVALID_OPTION unless `name` is a valid directory name on every operating system. */
function checkName(name: string): void {
  const isSafe = /^[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,99}$/.test(name) && !name.endsWith('.')
  if (isSafe && !/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name)) return
  throw new VarveError(
    'INVALID_OPTION',
    `option 'name' is ${JSON.stringify(name.slice(0, 120))}, which is not a safe directory name; use letters, digits and ` +
      "'. _ @ + -', at most 100, for example '@scope+tool'",
  )
}

function packageRoot(cwd: string, files: typeof fs, paths: typeof path): string | undefined {
  for (const folder of upward(cwd, files, paths)) if (isThere(paths.join(folder, 'package.json'), files)) return folder
  return undefined
}

/** The caches of the repository that contains the working directory; undefined if none does. */
function gitCaches(paths: typeof path): string | undefined {
  const shared = gitDirectory(workingDirectory())
  return shared === undefined ? undefined : paths.join(shared, 'varve')
}

/** `process.versions.pnp` is set if Yarn resolves without node_modules. */
function cacheFolder(): string {
  const pnp = globalThis.process?.versions?.['pnp']
  if (pnp === undefined) return 'node_modules/.cache'
  return pnp === '1' ? '.pnp/.cache' : '.yarn/.cache'
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}

function workingDirectory(): string {
  try {
    return globalThis.process?.cwd?.() ?? '/'
  } catch {
    throw new NoPlace("the working directory was removed; set option 'dir' or VARVE_DIR to an absolute path")
  }
}

// The directory of a Git repository that all its worktrees share:
//
//   main/.git                                 a directory                                              -> main/.git
//   feature/.git                              a file, `gitdir: /home/me/main/.git/worktrees/feature`, and there
//   main/.git/worktrees/feature/commondir     a file, `../..`                                          -> main/.git
//
// A cache in it is outside every working tree: it serves all of them, and `npm ci` and `git clean` leave it alone.

/** Git writes shorter files. */
const BYTES_MAX = 4096

/**
 * Absolute path of the directory of a Git repository that all its worktrees share, such as `/home/me/app/.git`, for a directory
 * in one of them; undefined outside a repository. Touches nothing.
 */
export function gitDirectory(folder: string): string | undefined {
  const files = builtin('node:fs')
  const paths = builtin('node:path')
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

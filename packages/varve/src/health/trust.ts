/**
 * Whether another user could replace what a path leads to. As with StrictModes of OpenSSH, every component from the root on
 * is examined without following links, and the target of a link in the same way.
 *
 *   1. A directory on the way belongs to root, to the effective user, or to a user who could change Varve itself: the
 *      owner of a directory that its code was loaded from. The cache's own directories belong to root or the effective user.
 *   2. Other users cannot write to it. Exceptions: a sticky directory on the way, such as /tmp, because users cannot
 *      replace there what belongs to others; a group without other members; a group that could change Varve itself.
 *   3. A link in a sticky directory belongs to a user of rule 1. Elsewhere rule 2 has decided who could make it.
 *
 * Users who can change Varve's code decide what a build emits, whatever directory its cache is in. Without that part of
 * the rules a checkout of another user in a container, a project that a team shares by a group, and the world-writable
 * /builds of some CI systems would have no cache, and be no safer.
 */
import type * as fs from 'node:fs'
import { codeFile } from '../host/builtin.ts'
import { errorCode, isRefusal } from '../host/permission.ts'
import type * as path from 'node:path'

/** What is needed of `node:fs`. */
export type WalkedFiles = Pick<typeof fs, 'lstatSync' | 'readlinkSync' | 'readFileSync'>

export interface Component {
  readonly path: string
  readonly stats: fs.Stats
  /** Number of components that follow, including those of links. */
  readonly left: number
}

/** Where a walk ended early. */
export interface WalkEnd {
  readonly path: string
  /** Why; undefined if the component does not exist. */
  readonly error: unknown
  readonly left: number
}

/** The user that opens a cache. */
export interface Opener {
  readonly files: WalkedFiles
  /** Effective user. */
  readonly user: number
  /** Directories of other users are trusted, and the cache's own may be sticky. */
  readonly isShared: boolean
}

/** Why a component is not trusted, and the fix, as parts of a sentence. */
export interface Distrust {
  readonly why: string
  readonly fix: string
}

/** Users and groups that can change a file or directory. */
interface Writers {
  readonly owners: Set<number>
  readonly groups: Set<number>
  isAnyone: boolean
}

const LINKS_MAX = 40

/** The components of an absolute path, from the root on. A link that is the last one is not followed. */
export function* componentsOf(path: string, files: WalkedFiles): Generator<Component, WalkEnd | undefined> {
  const todo = namesOf(path)
  for (let [at, links] = ['', 0]; ;) {
    const here = at === '' ? '/' : at
    const left = todo.length
    try {
      const stats = files.lstatSync(here, { throwIfNoEntry: false })
      if (stats === undefined) return { path: here, error: undefined, left }
      yield { path: here, stats, left }
      if (stats.isSymbolicLink() && left > 0) {
        if (++links > LINKS_MAX)
          return { path: here, error: Object.assign(new Error('too many links'), { code: 'ELOOP' }), left }
        const target = files.readlinkSync(here)
        todo.unshift(...namesOf(target))
        at = target.startsWith('/') ? '' : parentOf(at)
      }
    } catch (error) {
      if (left === 0 || !isRefusal(error)) return { path: here, error, left }
    }
    for (; todo[0] === '..'; todo.shift()) at = parentOf(at)
    const next = todo.shift()
    if (next === undefined) return undefined
    at = `${at}/${next}`
  }
}

/** Why the directory is not trusted; undefined if it is. `isOwn`: the cache directory, not one above it. */
export function distrustDirectory({ path, stats }: Component, isOwn: boolean, opener: Opener): Distrust | undefined {
  const { user, isShared } = opener
  const isForeign = !isShared && stats.uid !== 0 && stats.uid !== user
  if (!isForeign && (stats.mode & 0o022) === 0) return undefined
  const trusted = writersOfCode(opener.files)
  if (trusted.isAnyone) return undefined
  if (isForeign && (isOwn || !trusted.owners.has(stats.uid))) {
    const why = `'${path}' belongs to user ${stats.uid}, not to ${user}, whose owner could change your build output`
    return { why, fix: `change its owner, ${NAME_ANOTHER}, or trust it with shared: true (command: --shared)` }
  }
  if (!isWritable(stats, opener)) return undefined
  const isSticky = (stats.mode & 0o1000) !== 0
  if (isSticky && (!isOwn || isShared)) return undefined
  const why = `others may write to '${path}' (mode ${(stats.mode & 0o7777).toString(8)}) and could change your build output`
  const fix = `remove that permission ('chmod go-w ${path}'), ${NAME_ANOTHER}`
  if (!isOwn) return { why, fix }
  const sticky = isSticky ? 'trust it with shared: true' : "make it sticky ('chmod +t') and trust it with shared: true"
  return { why, fix: `${fix}, or ${sticky} (command: --shared)` }
}

/** Why a link on the way is not followed; undefined if it is. */
export function distrustLink({ path, stats }: Component, opener: Opener): Distrust | undefined {
  const isOurs = stats.uid === 0 || stats.uid === opener.user || writersOfCode(opener.files).owners.has(stats.uid)
  // A target may begin with '..', so the component before it need not be its directory.
  if (isOurs || !isWritable(opener.files.lstatSync(parentOf(path) || '/'), opener)) return undefined
  const why = `'${path}' is a symbolic link of user ${stats.uid} in a directory that others may write to`
  return { why, fix: `remove it, or ${NAME_ANOTHER}` }
}

/** Whether users that are not trusted may write to the directory, sticky or not. */
export function isWritable({ mode, gid }: fs.Stats, { files, user }: Opener): boolean {
  if ((mode & 0o022) === 0) return false
  const trusted = writersOfCode(files)
  if (trusted.isAnyone) return false
  return (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !trusted.groups.has(gid) && !isPrivate(gid, user, files))
}

export const NAME_ANOTHER = "set option 'dir' or VARVE_DIR to another directory"

let ofCode: Writers | undefined

/** The users that can change the code that runs here. */
function writersOfCode(files: WalkedFiles): Writers {
  if (ofCode !== undefined) return ofCode
  const writers: Writers = { owners: new Set(), groups: new Set(), isAnyone: false }
  const code = codeFile()
  for (const { stats } of code === undefined ? [] : componentsOf(code, files)) {
    if (stats.isSymbolicLink()) continue
    writers.owners.add(stats.uid)
    if ((stats.mode & 0o1000) !== 0) continue
    if ((stats.mode & 0o020) !== 0) writers.groups.add(stats.gid)
    if ((stats.mode & 0o002) !== 0) writers.isAnyone = true
  }
  return (ofCode = writers)
}

/** Whether the group has only that user: most Linux systems create one for each. Unknown groups count as shared. */
function isPrivate(gid: number, user: number, files: WalkedFiles): boolean {
  try {
    const table = (path: string): string[][] =>
      files
        .readFileSync(path, 'utf8')
        .split('\n')
        .map((line) => line.split(':'))
    const users = table('/etc/passwd')
    const own = users.find((fields) => fields[2] === String(user))
    const listed = table('/etc/group').find((fields) => fields[2] === String(gid))?.[3]
    if (own === undefined || listed === undefined) return false
    const primary = users.filter((fields) => fields[3] === String(gid)).map((fields) => fields[0])
    const members = [...primary, ...listed.split(',').filter((name) => name !== '')]
    return members.length > 0 && members.every((name) => name === own[0])
  } catch {
    return false
  }
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

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

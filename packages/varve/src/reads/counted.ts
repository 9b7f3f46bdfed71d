/**
 * Which reads of paths count. Left out is what decides nothing or changes in every run:
 *
 *   paths      kernel files (`/proc`, `/sys`, `/dev`), the system's folder for temporary files unless the project is in it,
 *              hidden folders of `node_modules`, where tools keep caches, the folder of the cache itself, whether the
 *              folders above it exist, which the cache makes, and names with a NUL byte, which virtual modules have
 *   own        what the work has written, or a variable that it has set: the next run finds it as it was before
 *   packages   a file of an installed package counts as the package.json of that package. A package that is a link into the
 *              project counts file by file. The archives of Yarn Plug'n'Play do not count, only the packages in them
 */
import type { Stats } from 'node:fs'
import type * as nodePath from 'node:path'
import { builtin } from '../host/builtin.ts'
import { type Disk, type ReadKind, isArchive, isPlugged, type Found, hostDisk, isOfFolder } from '../inputs/input.ts'
import { entryAt, lookAt, isSameLook, isSameStamp, type Look, stampOf } from '../inputs/stamp.ts'
import { isFolder, type Noted, Observed } from '../inputs/observed.ts'
import { ownEnv } from '../host/own.ts'
import { variable } from '../host/permission.ts'
import { countedVariables, isCountedVariable } from '../inputs/variables.ts'
import { isOutput } from './sink.ts'
import { type StoredInput, storedNames, storedVariable } from '../inputs/set.ts'

const KERNEL = /^\/(?:proc|sys|dev)(?:\/|$)/

/** Decides about paths for one project. */
export class CountedPaths {
  readonly #disk: Disk
  readonly #ignored: Set<string>
  readonly #isManaged: (path: string) => boolean
  /** The real folder of each package that is a link into the project; undefined for installed ones. */
  readonly #links: Map<string, string | undefined> = new Map()
  /** Whether the directory of each installed package is a link. */
  readonly #packageLinks: Map<string, boolean> = new Map()

  /** `root`: the project's folder; `isManaged`: whether a file of an installed package changes only with its version. */
  constructor(disk: Disk, root: string, isManaged: (path: string) => boolean = () => true) {
    this.#disk = disk
    this.#isManaged = isManaged
    const { paths } = disk
    const temporary = builtin('node:os')?.tmpdir()
    this.#ignored = new Set(temporary === undefined || isBelow(paths, root, temporary) ? [] : [temporary])
  }

  /** Files in this folder, absolute, do not count. */
  ignore(folder: string): void {
    this.#ignored.add(folder)
  }

  /** What to record of a read; undefined if it does not count. */
  decide(kind: ReadKind, path: string): readonly [kind: ReadKind, path: string] | undefined {
    const { paths } = this.#disk
    if (path.includes('\0') || KERNEL.test(path) || isArchive(path)) return undefined
    if (
      [...this.#ignored].some(
        (folder) => isBelow(paths, path, folder) || (kind === 'type' && isBelow(paths, folder, path)),
      )
    )
      return undefined
    const folder = `${paths.sep}node_modules${paths.sep}`
    const at = path.lastIndexOf(folder)
    if (at === -1) return [kind, path]
    const [first = '', second = '', ...rest] = path.slice(at + folder.length).split(paths.sep)
    if (first.startsWith('.') || first === '') return undefined
    const isScoped = first.startsWith('@')
    if ((isScoped && second === '') || !this.#isManaged(path)) return [kind, path]
    const own = path.slice(0, at + folder.length) + (isScoped ? paths.join(first, second) : first)
    if (kind === 'link' && path === own) return [kind, path]
    const real = this.#linkOf(own)
    if (real === undefined) return [isPlugged() ? 'package' : 'content', paths.join(own, 'package.json')]
    return this.decide(kind, paths.join(real, ...(isScoped ? rest : [second, ...rest])))
  }

  /**
   * The directory of the installed package with this package.json, if it is a link. Where it leads is an input as well: two copies of
   * one version may have been installed with other dependencies (pnpm).
   */
  linkedPackage(manifest: string): string | undefined {
    const { dirname, sep } = this.#disk.paths
    const folder = dirname(manifest)
    return manifest.includes(`${sep}node_modules${sep}`) && this.#isLink(folder) ? folder : undefined
  }

  /** Whether a file at this path is one of the project's: no cache, temporary file or part of a package. */
  keeps(path: string): boolean {
    const isCache = path.split(this.#disk.paths.sep).some((name) => /^\..*cache$/i.test(name))
    return !isCache && this.decide('content', path)?.[1] === path
  }

  /** What is at a path now; undefined where the project keeps nothing: caches and temporary files. */
  lookAtKept(path: string): Kept | undefined {
    if (!this.keeps(path)) return undefined
    return { look: lookAt(this.#disk.fs, path), entry: entryAt(this.#disk.fs, path) }
  }

  /** Whether a read counts as it is. */
  has(read: { readonly kind: ReadKind; readonly path: string } | undefined): boolean {
    return read !== undefined && this.decide(read.kind, read.path)?.[1] === read.path
  }

  #isLink(folder: string): boolean {
    const known = this.#packageLinks.get(folder)
    if (known !== undefined) return known
    const isLink = entryAt(this.#disk.fs, folder)?.isSymbolicLink() === true
    this.#packageLinks.set(folder, isLink)
    return isLink
  }

  #linkOf(folder: string): string | undefined {
    if (this.#links.has(folder)) return this.#links.get(folder)
    let real: string | undefined
    try {
      real = this.#disk.fs.realpathSync(folder)
    } catch {
      real = undefined
    }
    const isInstalled =
      real === undefined || real.includes(`${this.#disk.paths.sep}node_modules${this.#disk.paths.sep}`)
    const link = isInstalled ? undefined : real
    this.#links.set(folder, link)
    return link
  }
}

/** Whether `path` is `folder` or below it. */
export function isBelow(paths: typeof nodePath, path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(paths.sep) ? folder : `${folder}${paths.sep}`)
}

/** Looks at what was read, by the keys of the reads. */
export interface Looks extends Iterable<[string, Noted]> {
  get(key: string): Noted | undefined
}

/** Looks at a file. The returned function reports whether the file still has the content that it had at the first look. */
export function observe(path: string): () => boolean {
  const disk = hostDisk()
  if (disk === undefined) return () => false
  const read = Observed.settled(disk, 'content', path)
  return () => read.seal(disk) !== undefined
}

/**
 * Freezes what was read of a path that is about to be written, of the folders that it is in, and of everything below it, which may be
 * removed with it. Returns the keys of those reads.
 */
export function freezeAround(reads: Looks, disk: Disk, path: string): string[] {
  const { dirname, sep } = disk.paths
  const keys = [`content ${path}`, `module ${path}`, `list ${path}`, `list ${dirname(path)}`, `tree ${path}`]
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) keys.push(`tree ${dirname(folder)}`)
  if (isFolder(lookAt(disk.fs, path)))
    for (const [key, read] of reads) if (read.path.startsWith(`${path}${sep}`)) keys.push(key)
  for (const key of keys) reads.get(key)?.freeze(disk)
  return keys
}

/** What is at a path: what a link leads to, and the link. */
export interface Kept {
  readonly look: Look
  readonly entry: Stats | undefined
}

/** What a call writes: a result from the cache would not write it. */
export class CallWrites {
  readonly #lookAtKept: (path: string) => Kept | undefined
  readonly #before: Map<string, Kept> = new Map()

  /** `lookAtKept`: what is at a path now; undefined for one where the project keeps nothing, such as caches and temporary files. */
  constructor(lookAtKept: (path: string) => Kept | undefined) {
    this.#lookAtKept = lookAtKept
  }

  /** A path is about to be written. Returns whether it is another one, and the project keeps something there. */
  add(path: string): boolean {
    const before = this.#before.has(path) ? undefined : this.#lookAtKept(path)
    if (before !== undefined) this.#before.set(path, before)
    return before !== undefined
  }

  /** Whether nothing was written where the project keeps something. */
  get areNone(): boolean {
    return this.#before.size === 0
  }

  /** A file that the call changed, made or removed, and left so. Folders alone are of no use to others. */
  get left(): string | undefined {
    return [...this.#before].find(([path, before]) => this.#isLeft(path, before))?.[0]
  }

  #isLeft(path: string, before: Kept): boolean {
    const now = this.#lookAtKept(path) ?? before
    if (now.entry?.isDirectory() === true) return before.entry?.isFile() === true
    return !isSameLook(before.look, now.look) || !isSameStamp(stampOf(before.entry), stampOf(now.entry))
  }
}

/** The keys of reads. */
export interface ReadKeys {
  has(key: string): boolean
  keys(): Iterable<string>
}

/** What was read, and removed by the process since: it is in memory only, so that no later run finds what this one has found. */
export class TakenPaths {
  readonly #disk: Disk
  readonly #keeps: (path: string) => boolean
  /** What was there when it was about to be removed. Tools remove a file to write it again, too. */
  readonly #removed: Set<string> = new Set()
  /** What the process made itself. */
  readonly #made: Set<string> = new Set()
  #taken: string | undefined

  /** `keeps`: whether a file at this path is one of the project's. */
  constructor(disk: Disk, keeps: (path: string) => boolean) {
    this.#disk = disk
    this.#keeps = keeps
  }

  /** A path is about to be written. */
  noteMade(path: string): void {
    if (!this.#made.has(path) && lookAt(this.#disk.fs, path) === 'missing') this.#made.add(path)
  }

  /** A path, and all below it, is about to be removed. Of what was read of it, `kinds` count. */
  noteRemoved(path: string, reads: ReadKeys, kinds: readonly ReadKind[]): void {
    const look = lookAt(this.#disk.fs, path)
    if (look === 'missing') return
    this.#addRead(path, reads, kinds)
    if (!isFolder(look)) return
    const below = `${path}${this.#disk.paths.sep}`
    for (const key of reads.keys()) {
      const start = key.indexOf(' ') + 1
      if (!key.startsWith(below, start)) continue
      const read = key.slice(start)
      if (lookAt(this.#disk.fs, read) !== 'missing') this.#addRead(read, reads, kinds)
    }
  }

  #addRead(path: string, reads: ReadKeys, kinds: readonly ReadKind[]): void {
    const isRead = kinds.some((kind) => reads.has(`${kind} ${path}`))
    if (isRead && !this.#made.has(path) && this.#keeps(path)) this.#removed.add(path)
  }

  /** One that is gone, absolute; it stays one. Output is none: tools compare it with what they write. */
  get first(): string | undefined {
    if (this.#removed.size > 0)
      this.#taken ??= [...this.#removed].find((path) => !isOutput(path) && lookAt(this.#disk.fs, path) === 'missing')
    return this.#taken
  }

  /** The process has waited for all that it removed so far. */
  settle(): void {
    if (this.first === undefined) this.#removed.clear()
  }
}

/** Paths that the work of a scope wrote or removed. */
export class OwnWrites {
  readonly #disk: Disk
  /** Whether each path was missing before. */
  readonly #written: Map<string, boolean> = new Map()
  /** Keys of reads that a write decides, such as of the names in a folder. They count as they were before. */
  readonly #decided: Set<string> = new Set()

  constructor(disk: Disk) {
    this.#disk = disk
  }

  /** A path is about to be written. */
  add(path: string, reads: Looks): void {
    for (const key of freezeAround(reads, this.#disk, path)) this.#decided.add(key)
    if (!this.#written.has(path)) this.#written.set(path, lookAt(this.#disk.fs, path) === 'missing')
  }

  /** Whether the work wrote or removed a path. */
  has(path: string): boolean {
    return this.#written.has(path)
  }

  /** Whether a read finds only what the work wrote. Others may add to a folder that it made. */
  hides(kind: ReadKind, path: string): boolean {
    const wasMissing = this.#written.get(path)
    return wasMissing === false || (wasMissing === true && !isOfFolder(kind))
  }

  /** Whether the work changed what a read finds. */
  decides(key: string, path: string): boolean {
    return this.#decided.has(key) || this.#written.has(path)
  }

  /** Whether the work made a folder, listed it and removed it. */
  hadTemporarily({ kind, path, digest }: Found): boolean {
    const wasMade = isOfFolder(kind) && this.#written.get(path) === true && digest !== 'missing'
    return wasMade && lookAt(this.#disk.fs, path) === 'missing'
  }
}

/**
 * The variables that the work of a scope reads in one generation, each as the first read found it. If the program changes one
 * and the work reads it again, results of the generation may depend on either value, so none is stored. A variable that the
 * work itself changed is no input from then on: the next run finds it as the first read did, and changes it again.
 */

/** The key of the names of variables begins with this, and ends with how they begin. */
const NAMES = 'names '

/** What was read: the value of a variable, or the names of all. */
interface Seen {
  readonly found: string | undefined | readonly string[]
  readonly read: StoredInput
}

/** The variables of one generation. */
export class ReadVariables {
  readonly #seen: Map<string, Seen> = new Map()
  /** Names of variables that the work changed, and whether they were set before. */
  readonly #own: Map<string, boolean> = new Map()

  /** What was read, by the keys of a set. */
  get reads(): ReadonlyMap<string, StoredInput> {
    return new Map([...this.#seen].map(([key, { read }]) => [key, read]))
  }

  /** Whether what this key stands for was read. */
  has(key: string): boolean {
    return this.#seen.has(key)
  }

  /** 'changed': it was read with another value in this generation. */
  read(name: string, isListed: boolean): 'changed' | undefined {
    const isCounted = isCountedVariable(name, isListed) && !this.#own.has(name)
    return isCounted ? this.#note(`env ${name}`, () => storedVariable(name)) : undefined
  }

  readNames(prefix: string): 'changed' | undefined {
    return this.#note(`${NAMES}${prefix}`, () => storedNames(prefix, this.#namesBefore(prefix)))
  }

  changedByWork(name: string): void {
    if (!this.#own.has(name)) this.#own.set(name, variable(name) !== undefined)
  }

  /** Whether all are as they were read. */
  get areCurrent(): boolean {
    return [...this.#seen].every(([key, seen]) => this.#isCurrent(key, seen))
  }

  /** Whether the work changed the variable of this key. */
  isOwn(key: string): boolean {
    return this.#own.has(nameIn(key))
  }

  /** Another generation begins, which has what was read so far from this one. */
  clear(): void {
    this.#seen.clear()
  }

  #note(key: string, store: () => StoredInput): 'changed' | undefined {
    const before = this.#seen.get(key)
    if (before !== undefined && this.#isCurrent(key, before)) return undefined
    this.#seen.set(key, { found: this.#foundNow(key), read: store() })
    return before === undefined ? undefined : 'changed'
  }

  #isCurrent(key: string, { found }: Seen): boolean {
    const now = this.#foundNow(key)
    if (typeof found !== 'object' || typeof now !== 'object') return found === now || this.isOwn(key)
    return found.join('\0') === now.join('\0')
  }

  #foundNow(key: string): Seen['found'] {
    return key.startsWith(NAMES) ? this.#namesBefore(key.slice(NAMES.length)) : variable(nameIn(key))
  }

  /** The names as the work found them, and as its next run finds them: without those that it sets, and with those that it removes. */
  #namesBefore(prefix: string): string[] {
    const names = new Set(Object.keys(ownEnv()))
    for (const [name, wasSet] of this.#own) {
      if (wasSet) names.add(name)
      else names.delete(name)
    }
    return countedVariables(prefix, names).sort()
  }
}

function nameIn(key: string): string {
  return key.slice('env '.length)
}

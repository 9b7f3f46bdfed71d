/**
 * Inputs of work such as that of a compiler, whose author decides which reads are inputs of which results:
 *
 *   noted    looked at before the work read it, once in a process
 *   sealed   digested for a set; it is still what was noted
 *   spoiled  changed since it was noted: no set describes results that were made with it
 */
import { VarveError } from '../errors.ts'
import { type Disk, holdsHidden, hostDisk, isOfFolder, READ_KINDS, type ReadKind } from '../inputs/input.ts'
import { type Noted, Observed } from '../inputs/observed.ts'
import { Root } from '../inputs/root.ts'
import { type ChangedInput, Comparison, isOfDisk, readSet, type StoredInput, storedInput } from '../inputs/set.ts'
import { lookAt } from '../inputs/stamp.ts'
import { CountedPaths, type Kept, ReadVariables, TakenPaths } from './counted.ts'
import { lookedAt } from './resolution.ts'
import { isOutdated, sharedInstallation, type Sink } from './sink.ts'

/** How inputs are noted. */
export interface InputNotesOptions {
  /** The folder that stored paths are relative to. */
  readonly root: string
  /** Whether files of this package change only with its version; the default is that all do. */
  readonly isManaged?: ((path: string) => boolean) | undefined
}

/** What one compiler has read, by keys: `<kind> <absolute path>`, `env <variable>` or `names <prefix>`. */
export class InputNotes {
  readonly #disk: Disk
  readonly #hidden: Set<string> = new Set()
  readonly #root: Root
  readonly #counted: CountedPaths
  readonly #noted: Map<string, Noted> = new Map()
  /** The keys of each read, so that it is decided once. */
  readonly #keys: Map<string, readonly string[]> = new Map()
  readonly #variables: ReadVariables = new ReadVariables()
  /** A variable that was read with two values. */
  #mixed: string | undefined
  /** What the work wrote or removed, and the keys of the reads that found it missing before; none if it was there. */
  readonly #written: Map<string, readonly string[]> = new Map()
  /** Code that was written while the process may have loaded it. */
  readonly #unsure: Set<string> = new Set()

  constructor({ root, isManaged }: InputNotesOptions) {
    const disk = hostDisk()
    if (disk === undefined)
      throw new VarveError('ENGINE_UNAVAILABLE', 'the recorder needs the files of Node.js, which is not here')
    this.#disk = { ...disk, hidden: this.#hidden }
    this.#root = new Root(root, disk.paths)
    this.#counted = new CountedPaths(disk, root, isManaged)
  }

  /** What is in this folder, absolute, does not count from now on, nor its name in the folders around it. */
  ignore(folder: string): void {
    this.#counted.ignore(folder)
    this.#hidden.add(folder)
    this.#keys.clear()
    for (const [key, { kind, path }] of this.#noted) if (this.#isAroundHidden(kind, path)) this.#noted.delete(key)
  }

  /** Notes a read that is about to be made. The keys of its inputs; none if it does not count. */
  read(kind: ReadKind, path: string): readonly string[] {
    const name = `${kind} ${path}`
    const known = this.#keys.get(name)
    if (known !== undefined) return known // what was forgotten since is noted again when it is sealed
    const keys = this.#inputsOf(kind, path).map((input) => this.#note(...input))
    this.#keys.set(name, keys)
    return keys
  }

  /** Takes over what was noted before, such as while the program started. */
  adopt(read: Noted): readonly string[] {
    const key = `${read.kind} ${read.path}`
    const isTaken = !this.#isAroundHidden(read.kind, read.path) && this.#counted.has(read)
    if (isTaken && !this.#noted.has(key)) this.#noted.set(key, read)
    return this.read(read.kind, read.path)
  }

  /** Notes code that the process has loaded since that time. If it was written later, but not by the process, memory may have another state. */
  loaded(path: string, sinceMs: number, isWritten: (path: string) => boolean): readonly string[] {
    const isKnown = sharedInstallation()?.modules.has(path) === true || this.#keys.has(`module ${path}`)
    const keys = this.read('module', path)
    const look = isKnown || isWritten(path) ? 'missing' : lookAt(this.#disk.fs, path)
    if (typeof look === 'object' && Math.max(look.mtimeMs, look.ctimeMs) > sinceMs)
      for (const key of keys) this.#unsure.add(key)
    return keys
  }

  /** The key of a variable that is read; undefined if it does not count. */
  variable(name: string, isListed: boolean): string | undefined {
    if (this.#variables.read(name, isListed) === 'changed') this.#mixed = name
    return this.#keyOfVariable(`env ${name}`)
  }

  /** The key of the names of all variables with a prefix, which are read. */
  variables(prefix: string): string | undefined {
    if (this.#variables.readNames(prefix) === 'changed') this.#mixed = `${prefix}*`
    return this.#keyOfVariable(`names ${prefix}`)
  }

  changedVariable(name: string): void {
    this.#variables.changedByWork(name)
  }

  /** The work is about to write or remove a path: that, and the names in the directories around it, count as the work leaves them. */
  wrote(path: string): void {
    if (this.#written.has(path)) return
    const { dirname } = this.#disk.paths
    const before = READ_KINDS.map((kind) => `${kind} ${path}`).filter((key) => this.#noted.delete(key))
    this.#written.set(path, lookAt(this.#disk.fs, path) === 'missing' ? before : [])
    this.#noted.delete(`list ${dirname(path)}`)
    for (let folder = path; folder !== dirname(folder); folder = dirname(folder))
      this.#noted.delete(`tree ${dirname(folder)}`)
  }

  /** Whether the work wrote or removed a path. */
  hasWritten(path: string): boolean {
    return this.#written.has(path)
  }

  /** Whether a read, by its key, finds what the work wrote. What the work looked for and removed in vain it did not write. */
  isOwn(key: string): boolean {
    const [, path] = partsOf(key)
    const missing = this.#written.get(path)
    return missing !== undefined && !(missing.includes(key) && lookAt(this.#disk.fs, path) === 'missing')
  }

  /** What the work takes away, by its reads, which the caller adds. */
  taken(): TakenPaths {
    return new TakenPaths(this.#disk, (path) => this.#counted.keeps(path))
  }

  /** What is at a path now; undefined where the project keeps nothing: caches and temporary files. */
  lookAtKept(path: string): Kept | undefined {
    return this.#counted.lookAtKept(path)
  }

  /** The set of these keys, with `earlier` for those that were not read in this process; the name of an input that is spoiled. */
  seal(keys: Iterable<string>, earlier: readonly StoredInput[] = []): readonly StoredInput[] | string {
    const set = new Map(earlier.map((input) => [this.#keyOf(input), input]))
    const variables = this.#variables.reads
    for (const key of new Set([...keys, ...set.keys()])) {
      const variable = variables.get(key)
      if (variable !== undefined) set.set(key, variable)
      if (variable !== undefined || /^(?:env|names) /.test(key) || (set.has(key) && !this.#noted.has(key))) continue
      const found = this.#noted.get(this.#note(...partsOf(key)))?.seal(this.#disk)
      if (found === undefined || this.#unsure.has(key)) return partsOf(key)[1]
      set.set(key, storedInput(found, this.#root))
    }
    return this.#mixed ?? [...set.values()]
  }

  /** What differs from a stored set; undefined if the value has another form. */
  changes(stored: unknown): readonly ChangedInput[] | undefined {
    const set = readSet(stored)
    if (set === undefined) return undefined
    const { fs, paths } = this.#disk
    const now = new Comparison(this.#disk, this.#root, (kind, path, found) =>
      isOutdated(kind, path, this.#isAroundHidden(kind, path) ? () => new Observed({ fs, paths }, kind, path) : found),
    )
    return now.compare(set) === 'changed' ? now.changes(set) : []
  }

  /** The keys of a stored set. */
  keysOf(set: readonly StoredInput[]): string[] {
    return set.map((input) => this.#keyOf(input))
  }

  /** The path that an input of a set has here. */
  pathOf(name: string): string {
    return this.#root.absolute(name)
  }

  #isAroundHidden(kind: ReadKind, path: string): boolean {
    return isOfFolder(kind) && holdsHidden(this.#disk, path)
  }

  #keyOf([kind, name]: StoredInput): string {
    return `${kind} ${isOfDisk(kind) ? this.#root.absolute(name) : name}`
  }

  #keyOfVariable(key: string): string | undefined {
    return this.#variables.has(key) ? key : undefined
  }

  /** The inputs that a read stands for: a file of an installed package is its version, and where the link of the package leads. */
  #inputsOf(kind: ReadKind, path: string): (readonly [kind: ReadKind, path: string])[] {
    const decided = this.#counted.decide(kind, path)
    if (decided === undefined) return []
    const folder = this.#counted.linkedPackage(decided[1])
    return folder === undefined ? [decided] : [decided, ['link', folder]]
  }

  #note(kind: ReadKind, path: string): string {
    const key = `${kind} ${path}`
    if (!this.#noted.has(key))
      this.#noted.set(
        key,
        this.#written.has(path) ? Observed.settled(this.#disk, kind, path) : lookedAt(this.#disk, kind, path),
      )
    return key
  }
}

/** Reports inputs by their keys to a sink. */
export function forwardKeys(keys: Iterable<string>, sink: Sink): void {
  for (const key of keys) {
    const name = key.slice(key.indexOf(' ') + 1)
    if (key.startsWith('env ')) sink.variable(name, false)
    else if (key.startsWith('names ')) sink.variables(name)
    else sink.read(...partsOf(key))
  }
}

function partsOf(key: string): readonly [kind: ReadKind, path: string] {
  const space = key.indexOf(' ')
  return [key.slice(0, space) as ReadKind, key.slice(space + 1)]
}

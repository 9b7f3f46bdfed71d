/**
 * A scope: work whose reads count together, such as all hooks of one plugin. What any of it read is an input of all its
 * results, because a configuration is read once and then held in memory. The exceptions are the file that a call is about
 * and those that it declares itself: inputs of that call's result only.
 *
 *   1. A call runs: what it reads is noted, with a look at each file before the plugin reads it.
 *   2. It ends: its own and its declared files are taken out, the rest goes to the scope. Its result is put with the id of the
 *      scope's generation.
 *   3. Before the cache commits, the scope is sealed: each file is digested if it is still what was looked at, and the set is
 *      put under the generation, in the same commit. If a file changed meanwhile, or something opaque ran, it is not, and all
 *      results of the generation are misses. The next generation begins with what is known. If work finds another type, target
 *      of a link or names in a tree than before, the scope is sealed at once: results until then depend on what was found first.
 *   4. A result is used if its generation is stored and each read of its set finds what it found.
 */
import { Root } from '../inputs/root.ts'
import { VarveError } from '../errors.ts'
import { type OwnFile, ReadCall } from './call.ts'
import { CountedPaths } from './counted.ts'
import { forwardInputs, Generations, type ReadStore, type Verdict } from './generations.ts'
import { FollowedModules, lookedAt } from './loaded.ts'
import { lookAt, type Look } from '../inputs/stamp.ts'
import { type Disk, hostDisk, keyOf, type ReadKind } from '../inputs/input.ts'
import { installResolution } from './imports.ts'
import { hiddenReads, packageToTrust } from './known.ts'
import { OwnWrites } from './own-writes.ts'
import { type ChangedInput, Comparison } from '../inputs/check.ts'
import { namesOf, type StoredInput, storedInput } from '../inputs/set.ts'
import {
  type Installation,
  installation,
  isOutdated,
  isOutput,
  type Noted,
  type Opaque,
  outerSink,
  recorded,
  type Sink,
  unrecordedNow,
} from './sink.ts'
import { ReadVariables } from './variables.ts'

/** What a scope is made with. */
export interface ReadScopeOptions {
  /** Name for messages: of the plugin or the task. */
  readonly name: string
  /** The folder that stored paths are relative to. */
  readonly root: string
  /** The caller declared the inputs of what cannot be seen: results are stored all the same. */
  readonly isDeclared?: boolean | undefined
  /** Packages whose reads in processes, workers and addons the caller vouches for. */
  readonly trust?: readonly string[] | undefined
  /** Whether code of any kind runs in it, so that imports are noted from its start; otherwise the caller follows those of local modules. */
  readonly notesImports?: boolean | undefined
  /**
   * Whether the files that runs are about are inputs of all results: `'shared'` for work that keeps them in memory and uses them in other
   * runs. The default is to share them once a run shows that.
   */
  readonly ownFiles?: 'shared' | undefined
  /** Called for each result that is not stored because of what its work did, with that in two words. */
  readonly onNotStored?: ((did: string) => void) | undefined
  /** Called once, with a sentence, when results are not stored from now on. */
  readonly onOpaque?: ((message: string) => void) | undefined
}

/** Work whose reads count together. */
export class ReadScope implements Sink {
  readonly name: string
  readonly #options: ReadScopeOptions
  readonly #root: Root
  readonly #installation: Installation | undefined = installation()
  readonly #disk: Disk
  readonly #counted: CountedPaths
  readonly #generations: Generations
  /** Everything looked at in this generation, and what of it counts. */
  #reads: Map<string, Noted> = new Map()
  #inputs: Set<string> = new Set()
  /** Reads of earlier generations that changed meanwhile: nothing is stored until they are made again. */
  readonly #lost: Set<string> = new Set()
  /** What earlier generations read, by the same keys. */
  #earlier: Map<string, StoredInput> = new Map()
  /** Keys of what the program read while it started. */
  readonly #startUp: Set<string> = new Set()
  readonly #variables: ReadVariables = new ReadVariables()
  readonly #written: OwnWrites
  readonly #modules: FollowedModules = new FollowedModules()
  #opaque: string | undefined
  /** Paths that the program read while it started and that have changed since. Unless they are output, results are not stored. */
  #outdated: readonly string[] = []
  /** Took over what the program read before. */
  #begun = false
  /** Keys of the files that runs are about and have read. */
  readonly #ownReads: Set<string> = new Set()
  /** Whether these are inputs of all results. */
  #sharesOwn: boolean
  /** A result of this generation did what no set describes. */
  #isSpoiled = false
  #isReported = false
  /** Its builds are reported by `begin`. */
  #isBuilding = false

  constructor(options: ReadScopeOptions) {
    this.name = options.name
    this.#options = options
    this.#sharesOwn = options.ownFiles === 'shared'
    const disk = hostDisk()
    if (disk === undefined)
      throw new VarveError('ENGINE_UNAVAILABLE', 'the recorder needs the files of Node.js, which is not here')
    this.#disk = disk
    this.#root = new Root(options.root, disk.paths)
    this.#counted = new CountedPaths(disk, options.root)
    this.#written = new OwnWrites(disk)
    this.#generations = new Generations(this.#root, this.#disk)
    if (this.#installation === undefined) this.#refuse('runs in a host in which reads cannot be recorded')
  }

  /** Where sets are kept from now on; what is in `folder` does not count. */
  attach(store: ReadStore, folder: string): void {
    this.#generations.attach(store)
    this.#counted.ignore(folder)
    for (const key of this.#inputs) if (!this.#counted.has(this.#reads.get(key))) this.#inputs.delete(key)
  }

  /** The id to put with a result. */
  get generation(): string {
    return this.#generations.use()
  }

  /** The same, of which nothing need be put. */
  get current(): string {
    return this.#generations.current
  }

  /** Why results are not stored; undefined if they are. */
  get reason(): string | undefined {
    return this.#opaque
  }

  /** A build begins: what was compared before is compared again. Until the next build each set is compared once. */
  begin(): void {
    this.#isBuilding = true
    this.#start()
    this.#generations.begin()
  }

  /** A build is over. What the program reads from now on is its start-up again, for the next build. */
  end(): void {
    const ambient = this.#installation?.ambient
    if (this.#begun && ambient !== undefined) ambient.scopes -= 1
    this.#begun = false
    this.#isBuilding = false
  }

  /** Whether everything read so far is unchanged. The code of a server that runs on may have any of it in memory. */
  get isCurrent(): boolean {
    if (this.reason !== undefined) return false
    const earlier = [...this.#earlier.values(), ...this.#variables.reads.values()]
    return unrecordedNow(
      () =>
        this.#set() !== undefined && new Comparison(this.#disk, this.#root, isOutdated).compare(earlier) !== 'changed',
    )
  }

  /** Stores nothing from now on, including the results since the last commit. */
  stop(): void {
    this.#opaque ??= 'runs in a process in which its inputs have changed'
  }

  /** Takes over what another scope of the same code has read. */
  takeOver(other: ReadScope): void {
    for (const [key, read] of other.#earlier) this.#earlier.set(key, this.#earlier.get(key) ?? read)
    for (const key of other.#inputs) {
      const read = other.#reads.get(key)
      if (read === undefined || this.#earlier.has(key) || this.#inputs.has(key)) continue
      this.#reads.set(key, read)
      this.#inputs.add(key)
    }
    for (const [key, read] of other.#variables.reads) this.#earlier.set(key, this.#earlier.get(key) ?? read)
  }

  /** Runs work of the scope that has no result of its own. Reads of the file that it is about, absolute, do not count. */
  run<T>(work: () => T, about?: string): T {
    this.#start()
    if (this.#installation === undefined) return work()
    if (about === undefined && outerSink(this.#installation) === undefined)
      return recorded(this.#installation, this, work)
    return new ReadCall(this, this.#installation, about === undefined ? about : { path: about }, false).run(work)
  }

  /** A call that has a result. */
  call(own?: OwnFile): ReadCall {
    this.#start()
    return new ReadCall(this, this.#installation, own, true)
  }

  read(kind: ReadKind, path: string): void {
    const key = this.look(kind, path)
    if (key !== undefined) this.count([key])
  }

  wrote(path: string): void {
    unrecordedNow(() => this.#written.add(path, this.#reads))
  }

  variable(name: string, isListed: boolean): void {
    this.#variables.read(name, isListed)
  }

  variables(prefix: string): void {
    this.#variables.readNames(prefix)
  }

  changedVariable(name: string): void {
    this.#variables.changedByWork(name)
  }

  opaque(event: Opaque): void {
    if (this.#opaque !== undefined || this.#options.isDeclared === true) return
    const hidden = hiddenReads(event, this.name, this.#options.trust)
    if (hidden !== undefined) this.#refuse(hidden, packageToTrust(event))
  }

  /** Looks at a path before it is read. The key of the read, undefined if it does not count. @internal */
  look(kind: ReadKind, path: string): string | undefined {
    if (this.#written.hides(kind, path)) return undefined
    return unrecordedNow(() => {
      const decided = this.#counted.decide(kind, path)
      if (decided === undefined) return undefined
      this.#followLink(decided[1])
      const key = `${decided[0]} ${decided[1]}`
      if (kind === 'module' && path.endsWith('.node') && this.#installation?.addons.has(path) !== true)
        this.opaque({ kind: 'addon', what: path }) // it may be loaded already
      if (kind === 'module') for (const imported of this.#modules.follow(path)) this.read(kind, imported)
      if (decided[0] === 'module' && this.#earlier.has(key)) return undefined
      const before = this.#lost.delete(key) ? undefined : this.#reads.get(key)
      if (before !== undefined && (this.#written.decides(key, path) || before.isCurrent(this.#disk))) return key
      if (before !== undefined) this.seal() // results before this read do not depend on what it finds
      this.#reads.set(key, lookedAt(this.#disk, ...decided))
      return key
    })
  }

  /** Counts where the link of an installed package leads. */
  #followLink(manifest: string): void {
    const folder = this.#counted.linkedPackage(manifest)
    const key = `link ${folder ?? ''}`
    if (folder !== undefined && !this.#reads.has(key) && !this.#earlier.has(key)) this.read('link', folder)
  }

  /** What a call read counts. A read that was sealed while the call ran counts already. @internal */
  count(keys: Iterable<string>): void {
    for (const key of keys) {
      const read = this.#reads.get(key)
      // Tools compare their output with what is there before they write it.
      if (read === undefined || (this.#written.has(read.path) && isOutput(read.path))) continue
      if (this.#ownReads.has(key)) this.#sharesOwn = true // another run reads it
      this.#inputs.add(key)
      this.#startUp.delete(key)
    }
  }

  /** What is at a path now; undefined where the project keeps nothing. @internal */
  lookAtKept(path: string): Look | undefined {
    if (!this.#counted.keeps(path)) return undefined
    return unrecordedNow(() => lookAt(this.#disk.fs, path))
  }

  /** A result is not stored because its work wrote this file, absolute. */
  refuseWritten(path: string): void {
    this.#options.onNotStored?.('writes files')
    this.#reportOnce(
      `a result of '${this.name}' is not stored: its work wrote '${this.#root.relative(path)}', which a result from the cache would not do`,
    )
  }

  /** A result may be stored already, so none of this generation is. @internal */
  wroteLate(path: string): void {
    this.#isSpoiled = true
    this.refuseWritten(path)
  }

  /**
   * A run may use what another one has read as its own file and keeps in memory. That cannot be seen, but shows in a run that reads its
   * own file more than once, or although it was given the content, as several tools do that each keep it, or in one that does not read
   * its file any more although others did. From then on, the own files of all runs are inputs of all results. @internal
   */
  noteOwn({ path, isGiven }: OwnFile, reads: number, key: string | undefined): void {
    if (key !== undefined) this.#ownReads.add(key)
    const isWithout = reads === 0 && this.#ownReads.size > 0 && this.#options.notesImports === true && isGiven !== true
    const isKept = isGiven === true ? reads > 0 : isWithout && typeof this.lookAtKept(path) === 'object'
    if (isKept || reads > 1) this.#sharesOwn = true
    if (this.#sharesOwn) this.count(this.#ownReads)
  }

  /** Whether results of that generation may be used. */
  verdict(generation: string): Verdict {
    if (generation !== this.#generations.current)
      return unrecordedNow(() => this.#generations.verdict(generation, this.#isBuilding))
    return unrecordedNow(() => this.reason === undefined && this.#isCurrent()) ? 'same' : 'changed'
  }

  /** A result of that generation was used: what it depends on, the work around depends on. */
  forward(generation: string, outer: Sink): void {
    if (generation !== this.#generations.current)
      return unrecordedNow(() => this.#generations.forward(generation, outer))
    forwardInputs([...this.#earlier.values(), ...this.#variables.reads.values()], this.#root, outer)
    for (const key of this.#inputs) {
      const read = this.#reads.get(key)
      if (read !== undefined) outer.read(read.kind, read.path)
    }
  }

  /** What differs for results of that generation. */
  changes(generation: string): readonly ChangedInput[] {
    return unrecordedNow(() => this.#generations.changes(generation))
  }

  /** What counts so far: names of files and variables, as `why` names them. */
  recorded(): { readonly files: readonly string[]; readonly variables: readonly string[] } {
    const { files, variables } = namesOf([...this.#earlier.values(), ...this.#variables.reads.values()])
    const paths = [...this.#inputs].map((key) => this.#root.relative(this.#reads.get(key)?.path ?? ''))
    return { files: [...new Set([...files, ...paths])].sort(), variables: [...new Set(variables)].sort() }
  }

  /** Puts what was read, if results were put with it. To be called before a commit. */
  seal(): void {
    if (!this.#generations.isUsed) return
    unrecordedNow(() => {
      for (const imported of this.#modules.followAll()) this.read('module', imported)
      const set = this.reason === undefined ? this.#set() : undefined
      if (set === undefined)
        for (const key of this.#inputs) {
          if (!this.#isOfOutput(key) && this.#reads.get(key)?.seal(this.#disk) === undefined) this.#lost.add(key)
        }
      if (set !== undefined) this.#generations.put([...set.values()])
      if (set !== undefined) this.#earlier = set
      this.#generations.next()
      this.#isSpoiled = false
      this.#variables.isMixed = false
      if (set === undefined) return
      this.#variables.clear()
      const pending = [...this.#reads].filter(([key]) => !this.#inputs.has(key))
      this.#reads = new Map(pending)
      this.#inputs = new Set()
    })
  }

  /** Whether all reads would find the same again, besides those of what the work changed. */
  #isCurrent(): boolean {
    if (!this.#variables.areCurrent || this.#set() === undefined) return false
    const own = (key: string, path: string): boolean => this.#written.decides(key, path) || this.#variables.isOwn(key)
    const noted = [...this.#inputs].flatMap((key) => (this.#isOfOutput(key) ? [] : (this.#reads.get(key) ?? [])))
    if (!noted.every((read) => own(keyOf(read), read.path) || read.isCurrent(this.#disk))) return false
    // A call that was under way when these were sealed depends on them.
    const isLeft = ([key, [, name]]: [string, StoredInput]): boolean =>
      !this.#inputs.has(key) && !own(key, this.#root.absolute(name))
    const earlier = [...new Map([...this.#earlier, ...this.#variables.reads])].filter(isLeft).map(([, read]) => read)
    return new Comparison(this.#disk, this.#root, isOutdated).compare(earlier) !== 'changed'
  }

  /** All reads; undefined if one of them changed since it was made. */
  #set(): Map<string, StoredInput> | undefined {
    if (this.#lost.size > 0 || this.#variables.isMixed || this.#isSpoiled || this.#hasOutdated()) return undefined
    const set = new Map([...this.#earlier, ...this.#variables.reads])
    for (const key of this.#inputs) {
      if (this.#isOfOutput(key)) continue
      const sealed = this.#reads.get(key)?.seal(this.#disk)
      if (sealed === undefined) return undefined
      if (!this.#written.hadTemporarily(sealed)) set.set(keyOf(sealed), storedInput(sealed, this.#root))
    }
    return set
  }

  /** Whether this process has in memory what no set describes. Reports it once. */
  #hasOutdated(): boolean {
    const path = this.#outdated.find((one) => !isOutput(one))
    if (path === undefined) return false
    this.#reportOnce(
      `results of '${this.name}' are not stored: the program has read '${this.#root.relative(path)}', which has changed since`,
    )
    return true
  }

  /** Takes over what the program read before. */
  #start(): void {
    if (this.#begun) return
    this.#begun = true
    if (this.#options.notesImports === true && this.#installation !== undefined) installResolution(this.#installation)
    const ambient = this.#installation?.ambient
    if (ambient === undefined) return
    ambient.scopes += 1
    this.#outdated = unrecordedNow(() => [...ambient.reads.values()].flatMap((read) => this.#adopt(read)))
    for (const [, event] of ambient.hidden) this.opaque(event)
    if (ambient.isTooLong) this.#refuse('began after the program had read more files than are noted')
  }

  /** Counts what the program read while it started. Returns its path if that has changed since: the program has it in memory. */
  #adopt(read: Noted): readonly string[] {
    if (!this.#counted.has(read)) return []
    if (read.hasChanged(this.#disk)) return [read.path]
    const key = keyOf(read)
    this.#reads.set(key, read)
    this.#inputs.add(key)
    this.#startUp.add(key)
    return []
  }

  /** Whether this was read while the program started and the build has written its output there since. */
  #isOfOutput(key: string): boolean {
    const read = this.#startUp.has(key) ? this.#reads.get(key) : undefined
    return read !== undefined && isOutput(read.path) && read.hasChanged(this.#disk)
  }

  #refuse(did: string, trustable?: string): void {
    if (this.#options.isDeclared === true) return
    this.#opaque = did
    const trust =
      trustable === undefined ? '' : `, or name '${trustable}' in option 'trust' if its reads decide nothing`
    this.#options.onOpaque?.(
      `results of '${this.name}' are not stored: it ${did}. Declare the files that decide its results as option 'files'${trust}`,
    )
  }

  #reportOnce(message: string): void {
    if (!this.#isReported) this.#options.onOpaque?.(message)
    this.#isReported = true
  }
}

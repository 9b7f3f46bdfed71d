/**
 * A scope: work whose reads count together, such as all hooks of one plugin. What any of it read is an input of all its
 * results, because a configuration is read once and then held in memory. The exceptions are the file that a call is about
 * and those that it declares itself: inputs of that call's result only.
 *
 * The states of a read are those of `lives.ts`.
 *
 * Each result is put with the id of a generation, and each seal ends one: its set is put under that id, in the same commit. If something is
 * spoiled, or opaque work ran, there is no set, and the results are misses. The next generation begins with what is known. If work finds
 * another type, target of a link or names in a tree than before, the scope is sealed at once: results until then depend on what was found
 * first. A result is used if its generation is stored, and everything in its set is as it was.
 */
import { Root } from '../inputs/root.ts'
import { VarveError } from '../errors.ts'
import { type OwnFile, ReadCall } from './call.ts'
import { type CallWrites, CountedPaths, type Kept, OwnWrites, ReadVariables, TakenPaths } from './counted.ts'
import { Lives } from './lives.ts'
import { forwardInputs, Generations, type ReadStore, type Verdict } from './generations.ts'
import { FollowedModules, lookedAt } from './resolution.ts'
import { CONTENT_KINDS, type Disk, hostDisk, keyOf, READ_KINDS, type ReadKind } from '../inputs/input.ts'
import { installResolution } from './modules.ts'
import { hiddenReads, packageToTrust } from './known.ts'
import { type ChangedInput, Comparison, namesOf, type StoredInput, storedInput } from '../inputs/set.ts'
import type { Noted } from '../inputs/observed.ts'
import {
  type Installation,
  sharedInstallation,
  isOutdated,
  isOutput,
  type Opaque,
  outerSink,
  recorded,
  type Sink,
} from './sink.ts'

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

/** Whether results are stored: all, those of later generations, or none because of what the work did. */
type Storing = 'on' | 'later' | { readonly did: string }

/** Work whose reads count together. */
export class ReadScope implements Sink {
  readonly name: string
  readonly #options: ReadScopeOptions
  readonly #root: Root
  readonly #installation: Installation | undefined = sharedInstallation()
  readonly #disk: Disk
  readonly #paths: CountedPaths
  readonly #generations: Generations
  readonly #lives: Lives = new Lives()
  readonly #variables: ReadVariables = new ReadVariables()
  readonly #written: OwnWrites
  /** What calls of this generation wrote and may not have waited for. */
  readonly #unjudged: Set<CallWrites> = new Set()
  readonly #modules: FollowedModules = new FollowedModules()
  /** Keys of the files that runs are about and have read; 'shared': they are inputs of all results. */
  readonly #ownReads: Set<string> = new Set()
  #ownFiles: 'of each result' | 'shared'
  #storing: Storing = 'on'
  /** Whether it has taken over what the program read before, and compares each set once because a build began. */
  #phase: 'idle' | 'running' | 'building' = 'idle'
  readonly #taken: TakenPaths
  /** Reports the first result that is not stored. */
  #report: ((message: string) => void) | undefined

  constructor(options: ReadScopeOptions) {
    this.name = options.name
    this.#options = options
    this.#report = options.onOpaque
    this.#ownFiles = options.ownFiles ?? 'of each result'
    const disk = hostDisk()
    if (disk === undefined)
      throw new VarveError('ENGINE_UNAVAILABLE', 'the recorder needs the files of Node.js, which is not here')
    this.#disk = disk
    this.#root = new Root(options.root, disk.paths)
    this.#paths = new CountedPaths(disk, options.root)
    this.#written = new OwnWrites(disk)
    this.#taken = new TakenPaths(disk, (path) => this.#paths.keeps(path))
    this.#generations = new Generations(this.#root, this.#disk)
    if (this.#installation === undefined) this.#refuse('runs in a host in which reads cannot be recorded')
  }

  /** Where sets are kept from now on; what is in `folder` does not count. */
  attach(store: ReadStore, folder: string): void {
    this.#generations.attach(store)
    this.#paths.ignore(folder)
    for (const [key, look] of this.#lives) if (!this.#paths.has(look)) this.#lives.forget(key)
  }

  /** The id to put with a result. */
  get generation(): string {
    return this.#generations.use()
  }

  /** The id of the present generation, of which nothing need be put. */
  get current(): string {
    return this.#generations.current
  }

  /** Why results are not stored; undefined if they are. */
  get reason(): string | undefined {
    return typeof this.#storing === 'object' ? this.#storing.did : undefined
  }

  /** A build begins: what was compared before is compared again. Until the next build each set is compared once. */
  begin(): void {
    this.#start()
    this.#phase = 'building'
    this.#generations.begin()
  }

  /** A build is over, or the cache is closed. What the program reads from now on is its start-up again, for what comes next. */
  end(): void {
    const ambient = this.#installation?.ambient
    if (this.#phase !== 'idle' && ambient !== undefined) ambient.scopes -= 1
    this.#phase = 'idle'
  }

  /** Whether everything read so far is unchanged. The code of a server that runs on may have any of it in memory. */
  get isCurrent(): boolean {
    if (this.reason !== undefined || this.#set() === undefined) return false
    return this.#compare([...this.#sealed().values()])
  }

  /** Stores nothing from now on, including the results since the last commit. */
  stop(): void {
    if (this.reason === undefined) this.#storing = { did: 'runs in a process in which its inputs have changed' }
  }

  /** Takes over what another scope of the same code has read. */
  takeOver(other: ReadScope): void {
    this.#lives.takeOver(other.#lives)
    for (const [key, read] of other.#variables.reads) if (!this.#lives.isSealed(key)) this.#lives.seal(key, read)
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

  /** Programs look at the folder of their output before they empty it; what a call with a result looked at, it has used. */
  wrote(path: string, isRemoval = false, isForResult = false): void {
    if (isRemoval) this.#taken.noteRemoved(path, this.#lives, isForResult ? READ_KINDS : CONTENT_KINDS)
    else this.#taken.noteMade(path)
    this.#written.add(path, this.#lives)
  }

  variable(name: string, isListed: boolean): void {
    if (this.#variables.read(name, isListed) === 'changed') this.#spoil()
  }

  variables(prefix: string): void {
    if (this.#variables.readNames(prefix) === 'changed') this.#spoil()
  }

  changedVariable(name: string): void {
    this.#variables.changedByWork(name)
  }

  opaque(event: Opaque): void {
    if (this.reason !== undefined || this.#options.isDeclared === true) return
    const hidden = hiddenReads(event, this.name, this.#options.trust)
    if (hidden !== undefined) this.#refuse(hidden, packageToTrust(event))
  }

  /** Looks at a path before it is read. The key of the read, undefined if it does not count. @internal */
  look(kind: ReadKind, path: string): string | undefined {
    const decided = this.#written.hides(kind, path) ? undefined : this.#paths.decide(kind, path)
    if (decided === undefined) return undefined
    this.#followLink(decided[1])
    const key = `${decided[0]} ${decided[1]}`
    if (kind === 'module' && path.endsWith('.node') && this.#installation?.addons.has(path) !== true)
      this.opaque({ kind: 'addon', what: path }) // it may be loaded already
    if (kind === 'module') for (const imported of this.#modules.follow(path)) this.read(kind, imported)
    if (decided[0] === 'module' && this.#lives.isSealed(key)) return undefined
    const before = this.#lives.get(key)
    if (before !== undefined && (this.#written.decides(key, path) || before.isCurrent(this.#disk))) return key
    if (before !== undefined) this.seal() // results before this read do not depend on what it finds
    this.#lives.note(key, lookedAt(this.#disk, ...decided))
    return key
  }

  /** Counts where the link of an installed package leads. */
  #followLink(manifest: string): void {
    const folder = this.#paths.linkedPackage(manifest)
    if (folder !== undefined && !this.#lives.has(`link ${folder}`)) this.read('link', folder)
  }

  /** What a call read counts. A read that was sealed while the call ran counts already. @internal */
  count(keys: Iterable<string>): void {
    for (const key of keys) {
      const read = this.#lives.get(key)
      // Tools compare their output with what is there before they write it.
      if (read === undefined || (this.#written.has(read.path) && isOutput(read.path))) continue
      if (this.#ownReads.has(key)) this.#ownFiles = 'shared' // another run reads it
      this.#lives.count(key)
    }
  }

  /** What is at a path now; undefined where the project keeps nothing. @internal */
  lookAtKept(path: string): Kept | undefined {
    return this.#paths.lookAtKept(path)
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
    this.#spoil()
    this.refuseWritten(path)
  }

  /** @internal */
  judge(writes: CallWrites): string | undefined {
    const { left } = writes
    if (left === undefined && !writes.areNone) this.#unjudged.add(writes)
    return left
  }

  /**
   * A run may use what another one has read as its own file and keeps in memory. That cannot be seen, but shows in a run that reads its
   * own file more than once, or although it was given the content, as several tools do that each keep it, or in one that does not read
   * its file any more although others did. From then on, the own files of all runs are inputs of all results. @internal
   */
  noteOwn({ path, isGiven }: OwnFile, reads: number, key: string | undefined): void {
    if (key !== undefined) this.#ownReads.add(key)
    const isWithout = reads === 0 && this.#ownReads.size > 0 && this.#options.notesImports === true && isGiven !== true
    const isKept = isGiven === true ? reads > 0 : isWithout && this.lookAtKept(path)?.entry !== undefined
    if (isKept || reads > 1) this.#ownFiles = 'shared'
    if (this.#ownFiles === 'shared') this.count(this.#ownReads)
  }

  /** Whether results of that generation may be used. */
  verdict(generation: string): Verdict {
    if (this.#outdated !== undefined) return 'changed'
    if (generation !== this.#generations.current)
      return this.#generations.verdict(generation, this.#phase === 'building')
    return this.reason === undefined && this.#isPresentCurrent() ? 'same' : 'changed'
  }

  /** A result of that generation was used: what it depends on, the work around depends on. */
  forward(generation: string, outer: Sink): void {
    if (generation !== this.#generations.current) return this.#generations.forward(generation, outer)
    forwardInputs([...this.#sealed().values()], this.#root, outer)
    for (const { kind, path } of this.#lives.counted(this.#disk)) outer.read(kind, path)
  }

  /** What differs for results of that generation. */
  changes(generation: string): readonly ChangedInput[] {
    return this.#generations.changes(generation)
  }

  /** What counts so far: names of files and variables, as `why` names them. */
  recorded(): { readonly files: readonly string[]; readonly variables: readonly string[] } {
    const { files, variables } = namesOf([...this.#sealed().values()])
    const paths = this.#lives.counted(this.#disk).map(({ path }) => this.#root.relative(path))
    return { files: [...new Set([...files, ...paths])].sort(), variables: [...new Set(variables)].sort() }
  }

  /** Puts what was read, if results were put with it. To be called before a commit. */
  seal(): void {
    if (!this.#generations.isUsed) return
    for (const writes of this.#unjudged) {
      const { left } = writes
      if (left !== undefined) this.wroteLate(left)
    }
    this.#unjudged.clear()
    this.#taken.settle()
    for (const imported of this.#modules.followAll()) this.read('module', imported)
    const set = this.reason === undefined ? this.#set() : undefined
    const counted = this.#lives.counted(this.#disk)
    if (set === undefined) {
      for (const look of counted) if (look.seal(this.#disk) === undefined) this.#lives.seal(keyOf(look), 'changed')
    } else {
      this.#generations.put([...set.values()])
      for (const look of counted) this.#lives.forget(keyOf(look))
      for (const [key, input] of set) this.#lives.seal(key, input)
      this.#variables.clear()
    }
    this.#generations.next()
    if (this.#storing === 'later') this.#storing = 'on'
  }

  /** What earlier generations found, and the variables of this one. */
  #sealed(): Map<string, StoredInput> {
    const all = this.#lives.sealed
    for (const [key, read] of this.#variables.reads) all.set(key, read)
    return all
  }

  /** Whether all reads would find the same again, besides those of what the work changed. */
  #isPresentCurrent(): boolean {
    if (!this.#variables.areCurrent || this.#set() === undefined) return false
    const own = (key: string, path: string): boolean => this.#written.decides(key, path) || this.#variables.isOwn(key)
    const isCurrent = (look: Noted): boolean => own(keyOf(look), look.path) || look.isCurrent(this.#disk)
    if (!this.#lives.counted(this.#disk).every(isCurrent)) return false
    // A call that was under way when these were sealed depends on them.
    const isLeft = ([key, [, name]]: [string, StoredInput]): boolean =>
      !this.#lives.isCounted(key) && !own(key, this.#root.absolute(name))
    return this.#compare([...this.#sealed()].filter(isLeft).map(([, read]) => read))
  }

  #compare(set: readonly StoredInput[]): boolean {
    return new Comparison(this.#disk, this.#root, isOutdated).compare(set) !== 'changed'
  }

  /** All reads; undefined if one of them changed since it was made. */
  #set(): Map<string, StoredInput> | undefined {
    if (this.#storing === 'later' || this.#lives.spoiled('work') !== undefined || this.#hasOutdated()) return undefined
    const set = this.#sealed()
    for (const look of this.#lives.counted(this.#disk)) {
      const found = look.seal(this.#disk)
      if (found === undefined) return undefined
      if (!this.#written.hadTemporarily(found)) set.set(keyOf(found), storedInput(found, this.#root))
    }
    return set
  }

  /** What this process has in memory, and no set describes. */
  get #outdated(): string | undefined {
    const ambient = this.#installation?.ambient
    const consumed = ambient !== undefined && ambient.reads.size > 0 ? [...(ambient.consumed ?? [])] : []
    return (
      this.#lives.spoiled('start-up') ??
      this.#taken.first ??
      consumed.find((path) => this.#paths.keeps(path) && !isOutput(path))
    )
  }

  /** Whether there is such a path; it is reported once. */
  #hasOutdated(): boolean {
    const path = this.#outdated
    if (path === undefined) return false
    this.#reportOnce(
      `results of '${this.name}' are not stored: the program has read '${this.#root.relative(path)}', which has changed since`,
    )
    return true
  }

  /** Takes over what the program read before. */
  #start(): void {
    if (this.#phase !== 'idle') return
    this.#phase = 'running'
    if (this.#options.notesImports === true && this.#installation !== undefined) installResolution(this.#installation)
    const ambient = this.#installation?.ambient
    if (ambient === undefined) return
    ambient.scopes += 1
    for (const look of ambient.reads.values())
      if (this.#paths.has(look)) this.#lives.adopt(keyOf(look), look, look.hasChanged(this.#disk))
    for (const [, event] of ambient.hidden) this.opaque(event)
    if (ambient.isTooLong) this.#refuse('began after the program had read more files than are noted')
  }

  /** The results of this generation are not stored: no set describes what they depend on. */
  #spoil(): void {
    if (this.#storing === 'on') this.#storing = 'later'
  }

  #refuse(did: string, trustable?: string): void {
    if (this.#options.isDeclared === true) return
    this.#storing = { did }
    const trust =
      trustable === undefined ? '' : `, or name '${trustable}' in option 'trust' if its reads decide nothing`
    this.#options.onOpaque?.(
      `results of '${this.name}' are not stored: it ${did}. Declare the files that decide its results as option 'files'${trust}`,
    )
  }

  #reportOnce(message: string): void {
    this.#report?.(message)
    this.#report = undefined
  }
}

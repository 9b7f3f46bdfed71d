/**
 * What loaders and plugins read without reporting it to webpack: files and directories, modules, and environment variables.
 *
 *   1. The build runs inside a sink of the recorder, and the loaders of each module inside one of their own. Reads by webpack itself,
 *      through its input file system, are left out, because webpack compares these files itself. Loaders get that file system, too, in
 *      a form that is recorded.
 *   2. A read for a module is covered by a report of that module, of the same kind: a file dependency on a directory says that it exists,
 *      not what is in it.
 *   3. Names in a directory that were read for a module are that module's own: they are stored with it, and compared before webpack uses
 *      it again. If loaders that come from the same place ran for another module without reading them, they may have them in memory.
 *   4. Everything else is an input of all modules, because loaders read a configuration once, for the first module. A source that was
 *      read for a module becomes its file dependency as well.
 *
 * What counts is what the build has found, even if it changes before the environment is recorded.
 */
import * as paths from 'node:path'
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import {
  CallWrites,
  CONTENT_KINDS,
  forEachLoaded,
  forwardKeys,
  InputNotes,
  inUse,
  isOutput,
  noteOutput,
  READ_KINDS,
  type TakenPaths,
} from 'varve/internal'
import { installReads, type ReadKind, recordedFiles } from 'varve/reads'
import type { Compilation, Compiler, Module, NormalModule } from 'webpack'
import { localModules, manifestOf } from '../build/modules.ts'
import { checkoutOf, type Root } from '../build/root.ts'
import { disk } from '../host/files.ts'
import { Packages } from './packages.ts'

type Installation = NonNullable<ReturnType<typeof installReads>>
type Sink = NonNullable<ReturnType<Installation['storage']['getStore']>>
type Opaque = Parameters<Sink['opaque']>[0]
type BuildInfo = NonNullable<NormalModule['buildInfo']>

const NAME = 'VarveWebpackPlugin'

/** The disk as `Noted.hasChanged` takes it. */
const DISK = { fs: disk, paths }

/** The field of a module's build info with its own inputs: a set, as `inputs/set.ts` of varve stores it. */
const OWN = 'varveInputs'

/** What loaders did besides their results, in words. */
type Asked = 'connected to the network' | 'started what reads unseen' | 'removed what it had read'

/** The reads of one build. */
interface Build {
  readonly notes: InputNotes
  /** Receives the reads of the work in which the build runs. */
  readonly outer: Sink | undefined
  /** Keys of inputs that no report covers. */
  readonly shared: Set<string>
  /** Keys of what was read for no module: what any module reports covers them. */
  readonly loose: Set<string>
  /** What loaders asked whose answer cannot be compared later. They may have it in memory for all their modules. */
  readonly asked: Map<string, Asked>
  /** What was read for no module and removed. */
  readonly taken: TakenPaths
  readonly release: () => void
  isOver: boolean
}

/** Names in a directory that were read for modules. */
interface OwnList {
  readonly modules: Set<string>
  /** Where the loaders of these modules come from. */
  readonly origins: Set<string>
}

/** The reads of one compiler. If it is not `isOn`, it records none, and what the compiler reads counts for no other one either. */
export class BuildReads {
  readonly isOn: boolean
  readonly #compiler: Compiler
  readonly #installed: Installation | undefined
  #place: { readonly root: Root; readonly notes: InputNotes } | undefined
  #build: Build | undefined
  /** True between the first build and the end of the compiler. */
  #isOpen = false
  /** The keys of the inputs of all builds. */
  readonly #inputs: Set<string> = new Set()
  readonly #lists: Map<string, OwnList> = new Map()
  /** The modules for which loaders ran, by where the loaders come from. */
  readonly #ran: Map<string, Set<string>> = new Map()
  readonly #modules: WeakMap<object, ReadSink> = new WeakMap()
  readonly #asked: Map<string, Asked> = new Map()
  #outdated: string | undefined

  constructor(compiler: Compiler, isOn: boolean) {
    this.isOn = isOn
    this.#compiler = compiler
    this.#installed = installReads()
  }

  /** A file that the program has in memory as it no longer is: entries are neither used nor of use to others. */
  get outdated(): string | undefined {
    return (this.#outdated ??= this.#build?.taken.first)
  }

  /** The root of the checkout. */
  get root(): Root {
    return this.#placeNow.root
  }

  /** What the compiler has read. */
  get notes(): InputNotes {
    return this.#placeNow.notes
  }

  get #placeNow(): { readonly root: Root; readonly notes: InputNotes } {
    if (this.#place !== undefined) return this.#place
    const { context, options, outputPath } = this.#compiler
    const root = checkoutOf(context)
    const packages = new Packages(options.snapshot)
    const notes = new InputNotes({ root: root.folder, isManaged: (path) => packages.isInstalled(path) })
    if (outputPath !== '' && !isBelow(context, outputPath)) notes.ignore(outputPath)
    return (this.#place = { root, notes })
  }

  /** Called with the output directory before any compiler of the program runs, and later with the cache directory. */
  noteOutput(folder: string): void {
    if (folder !== '') noteOutput(folder, this.#compiler.context)
  }

  /**
   * Called with the files that configure the compiler. The variables that they and their imports name are inputs: options made from them
   * are in no key of webpack. Variables that a CI service sets for each run are left out, because a commit in a define would rebuild
   * everything; webpack compares the values of `DefinePlugin` itself.
   */
  noteConfig(files: Iterable<string>): void {
    for (const name of localModules([...files]).variables) {
      const key = this.notes.variable(name, true)
      if (key !== undefined) this.#inputs.add(key)
    }
  }

  /** Runs the rest of a build; called from a hook before it. */
  run(build: () => void): void {
    const installed = this.#installed
    if (installed === undefined) return build()
    if (this.#build !== undefined) endOf(this.#build) // the build before may have failed
    const around = installed.storage.getStore() ?? undefined
    this.#build = this.isOn ? this.#begin(installed, around) : undefined
    this.#takeStartUp(installed)
    if (this.#build === undefined) return build()
    leaveOutReads(this.#compiler.inputFileSystem)
    installed.storage.run(new ReadSink(this.#build), build)
  }

  /** `around`: the sink of the code that begins the build, perhaps that of another build. */
  #begin(installed: Installation, around: Sink | undefined): Build {
    return {
      notes: this.notes,
      outer: around instanceof ReadSink ? around.build.outer : around,
      shared: new Set(),
      loose: new Set(),
      asked: this.#asked,
      taken: this.notes.taken(),
      release: inUse(installed),
      isOver: false,
    }
  }

  /** Called when a compilation begins, of the compiler or of a child. */
  begin(compilation: Compilation): void {
    const installed = this.#installed
    const build = this.#build
    if (installed === undefined || build === undefined) return
    const hooks = this.#compiler.webpack.NormalModule.getCompilationHooks(compilation)
    hooks.beforeLoaders.tap(NAME, (_, module, context) => {
      context.fs = recordedFiles(context.fs)
      const own = new ReadSink(build, module)
      this.#modules.set(module, own)
      installed.storage.enterWith(own)
    })
    hooks.beforeParse.tap(NAME, (module) => {
      const own = this.#modules.get(module)
      if (own !== undefined) own.isParsing = true
    })
    hooks.beforeSnapshot.tap(NAME, (module) => installed.storage.run(null, () => this.#divide(module, build)))
    hooks.needBuild.tap(NAME, ({ buildInfo }) => {
      const own = ownInputsOf(buildInfo)
      return own !== undefined && build.notes.changes(own)?.length !== 0
    })
  }

  /** The module whose loaders run in the calling code. */
  get building(): Module | undefined {
    const sink = this.#installed?.storage.getStore()
    return sink instanceof ReadSink && !sink.isOver ? sink.module : undefined
  }

  /**
   * Called when a build is over. Returns the keys of the inputs so far, without those that are `known`. `folder` is the cache directory.
   * A build that reads nothing else does not ask which files its modules reported, which takes longer than all the rest.
   */
  end(compilation: Compilation, folder: string, known: ReadonlySet<string>): ReadonlySet<string> {
    this.noteOutput(folder)
    const build = this.#build
    if (build === undefined || build.isOver) return this.#inputs
    endOf(build)
    forward(compilation, known, build.outer)
    const isNew = (key: string): boolean => !known.has(key) && !this.#inputs.has(key)
    const found = [...build.shared, ...this.#keptLists()].filter(isNew)
    const loose = [...build.loose].filter(isNew)
    if (found.length + loose.length === 0) return this.#inputs
    const reports = reportsOf(compilation)
    const assets = assetsOf(compilation, this.#compiler.outputPath)
    found.push(...loose.filter((key) => !reports.covers(...partsOf(key))))
    for (const key of found) {
      const [, path] = partsOf(key)
      if (!build.notes.isOwn(key) && !assets.has(path) && !isBelow(path, folder)) this.#inputs.add(key)
    }
    return this.#inputs
  }

  /** Called when the compiler is closed. Later reads of the program belong to the next compiler. */
  close(): void {
    if (this.#build !== undefined) endOf(this.#build)
    if (this.#isOpen && this.#installed?.ambient !== undefined) this.#installed.ambient.scopes -= 1
    this.#isOpen = false
  }

  /** What the loaders of a module did besides their result, in words; undefined if it can be stored. */
  didBesides(module: Module): string | undefined {
    const left = this.#modules.get(module)?.writes.left
    return left === undefined ? this.#askedFor(module) : `wrote '${relative(this.root.folder, left)}'`
  }

  #askedFor(module: Module): Asked | undefined {
    if (this.#asked.size === 0) return undefined
    const loader = loadersOf(module).find((one) => this.#asked.has(one))
    return this.#asked.get(loader ?? '')
  }

  /** Whether a file is output of the process. */
  readonly isWritten = (path: string): boolean => this.notes.hasWritten(path) || isOutput(path)

  /** Divides what was read for a module, before webpack takes its snapshot. */
  #divide(module: NormalModule, build: Build): void {
    const sink = this.#modules.get(module)
    const { buildInfo } = module
    if (sink === undefined || buildInfo === undefined || buildInfo === null) return
    sink.isOver = true
    const loaders = loadersOf(module)
    if (sink.hasConsumed) for (const loader of loaders) build.asked.set(loader, 'removed what it had read')
    const origins = new Set(loaders.map(originOf))
    const identifier = module.identifier()
    for (const origin of origins) addTo(this.#ran, origin, identifier)
    const reports = new Reports(buildInfo)
    const own: string[] = []
    for (const key of sink.reads) {
      const [kind, path] = partsOf(key)
      if (reports.covers(kind, path)) continue
      const isOwn = isOfNames(kind) && origins.size > 0 && !sink.ofPlugins.has(key) && !build.notes.isOwn(key)
      if (isOwn) own.push(key)
      else build.shared.add(key)
      // A loader that reports the directory as a file has said that it is about this module.
      if (isOwn && !reports.names(path)) this.#noteList(key, identifier, origins)
      const files =
        kind === 'content' && manifestOf(path) !== path && !build.notes.isOwn(key) ? reportedIn(buildInfo) : undefined
      files?.add(path)
    }
    if (own.length > 0) this.#keepWith(buildInfo, own, build)
  }

  /** Stores inputs with their module. If one has changed since it was read, nothing describes what the module was made with. */
  #keepWith(buildInfo: BuildInfo, keys: readonly string[], { notes }: Build): void {
    const set = notes.seal(keys)
    if (typeof set === 'string') buildInfo.cacheable = false
    else Reflect.set(buildInfo, OWN, set)
  }

  #noteList(key: string, module: string, origins: ReadonlySet<string>): void {
    const list = this.#lists.get(key) ?? { modules: new Set(), origins: new Set() }
    list.modules.add(module)
    for (const origin of origins) list.origins.add(origin)
    this.#lists.set(key, list)
  }

  /** The lists that loaders may have had in memory for another module. */
  #keptLists(): string[] {
    const isKept = ({ modules, origins }: OwnList): boolean =>
      [...origins].some((origin) => [...(this.#ran.get(origin) ?? [])].some((module) => !modules.has(module)))
    return [...this.#lists].filter(([, list]) => isKept(list)).map(([key]) => key)
  }

  /** Takes the reads of the program before the build: its configuration, and not what it removes. */
  #takeStartUp({ ambient }: Installation): void {
    if (this.#isOpen || ambient === undefined) return
    this.#isOpen = true
    ambient.scopes += 1
    const code: string[] = []
    for (const read of ambient.reads.values()) {
      const { kind, path } = read
      if (isOutput(path)) continue
      if (kind === 'module' || kind === 'content') code.push(path)
      // Code that changes is compared when the environment is recorded: it is in memory as it was when it was loaded.
      if (kind !== 'module' && read.hasChanged(DISK)) this.#outdated ??= path
      else for (const key of this.#build === undefined ? [] : this.notes.adopt(read)) this.#build?.loose.add(key)
    }
    if (this.#build === undefined) return
    const { manifests, missing } = localModules(code)
    for (const manifest of [...manifests, ...missing])
      for (const key of this.notes.read('content', manifest)) this.#build.loose.add(key)
  }
}

/** Receives the reads of a build, or of the loaders of one of its modules, and passes them on to the work around. No method throws. */
class ReadSink implements Sink {
  readonly build: Build
  readonly module: Module | undefined
  /** Keys of what was read until the module was built, and those that plugins read, while it was parsed. */
  readonly reads: Set<string> = new Set()
  readonly ofPlugins: Set<string> = new Set()
  readonly writes: CallWrites
  /** What was read for the module and removed; most loaders remove nothing. */
  #taken: TakenPaths | undefined
  isParsing = false
  /** The module is built. What its code reads from then on was read for no module. */
  isOver = false

  constructor(build: Build, module?: Module) {
    this.build = build
    this.module = module
    this.writes = new CallWrites((path) => build.notes.lookAtKept(path))
  }

  read(kind: ReadKind, path: string): void {
    this.build.outer?.read(kind, path)
    if (this.build.isOver || webpackReads > 0) return
    if (kind === 'module') forEachLoaded(path, (module) => this.#note(kind, module))
    else this.#note(kind, path)
  }

  /** Returns whether the read is new. */
  #note(kind: ReadKind, path: string): boolean {
    const reads = this.module === undefined || this.isOver ? this.build.loose : this.reads
    const count = reads.size
    for (const key of this.build.notes.read(kind, path)) {
      if (this.isParsing && !reads.has(key)) this.ofPlugins.add(key)
      reads.add(key)
    }
    return reads.size > count
  }

  wrote(path: string, isRemoval = false): void {
    this.build.outer?.wrote(path, isRemoval)
    if (this.build.isOver) return
    const isOfModule = this.module !== undefined && !this.isOver
    if (isOfModule) this.writes.add(path)
    const taken = isOfModule ? (this.#taken ??= this.build.notes.taken()) : this.build.taken
    if (!isRemoval) taken.noteMade(path)
    else if (isOfModule) taken.noteRemoved(path, this.reads, READ_KINDS)
    else taken.noteRemoved(path, this.build.loose, CONTENT_KINDS)
    this.build.notes.wrote(path)
  }

  /** Whether loaders have removed what they had read: they may have it in memory for other modules. */
  get hasConsumed(): boolean {
    return this.#taken?.first !== undefined
  }

  variable(name: string, isListed: boolean): void {
    this.build.outer?.variable(name, isListed)
    if (!this.build.isOver) this.#share(this.build.notes.variable(name, isListed))
  }

  variables(prefix: string): void {
    this.build.outer?.variables(prefix)
    if (!this.build.isOver) this.#share(this.build.notes.variables(prefix))
  }

  /** The next process finds it as this one did before, and its build changes it again. */
  changedVariable(name: string): void {
    this.build.outer?.changedVariable(name)
    if (!this.build.isOver) this.build.notes.changedVariable(name)
  }

  /**
   * What connects to the network is not stored. webpack reads modules from the network itself, with a lock file. Processes and worker threads
   * end nothing for loaders of packages, as with webpack's own cache: thread-loader starts some in most builds.
   */
  opaque(event: Opaque): void {
    const { module, build } = this
    if (module !== undefined && !this.isOver && !isRemote(module) && event.kind !== 'addon')
      for (const loader of loadersOf(module)) {
        if (event.kind === 'network') build.asked.set(loader, 'connected to the network')
        else if (originOf(loader) === OF_PROJECT) build.asked.set(loader, 'started what reads unseen')
      }
    build.outer?.opaque(event)
  }

  #share(key: string | undefined): void {
    if (key !== undefined) this.build.shared.add(key)
  }
}

/** What a module, or all modules of a compilation, report to webpack. */
class Reports {
  readonly #paths: Set<string>
  readonly #contexts: readonly string[]

  constructor(reported: object, others: Iterable<string> = []) {
    const pathsOf = (name: Reported): Iterable<string> => reportedIn(reported, name) ?? []
    this.#paths = new Set([...pathsOf('fileDependencies'), ...pathsOf('missingDependencies'), ...others])
    this.#contexts = [...pathsOf('contextDependencies')]
  }

  /** Whether the path itself is reported. */
  names(path: string): boolean {
    return this.#paths.has(path)
  }

  /**
   * Whether a report covers a read. It never covers the content of a `package.json`: loaders keep the settings in it in memory, and an
   * application that imports its version reports it for another reason.
   */
  covers(kind: ReadKind, path: string): boolean {
    if (kind === 'content' && basename(path) === 'package.json') return false
    return (!isOfNames(kind) && this.names(path)) || this.#contexts.some((context) => isBelow(path, context))
  }
}

/** Depth of calls to webpack's input file system on this stack. */
let webpackReads = 0
const wrapped: WeakSet<object> = new WeakSet()

/** Leaves out what webpack's file system reads: webpack compares it itself. */
function leaveOutReads(fileSystem: Compiler['inputFileSystem']): void {
  if (fileSystem === null || wrapped.has(fileSystem)) return
  wrapped.add(fileSystem)
  const names = ['stat', 'lstat', 'readdir', 'readFile', 'readJson', 'readlink', 'realpath']
  for (const name of names.flatMap((one) => [one, `${one}Sync`])) {
    const method: unknown = Reflect.get(fileSystem, name)
    if (typeof method !== 'function') continue
    Reflect.set(fileSystem, name, (...args: unknown[]): unknown => {
      webpackReads += 1
      try {
        return Reflect.apply(method, fileSystem, args)
      } finally {
        webpackReads -= 1
      }
    })
  }
}

/** Hosts do much else after a build, and before Node.js 24 each promise costs more while the storage is in use. */
function endOf(build: Build): void {
  if (!build.isOver) build.release()
  build.isOver = true
}

/** The work around depends on what the build depends on, also on modules that came from the cache. */
function forward(compilation: Compilation, inputs: Iterable<string>, outer: Sink | undefined): void {
  if (outer === undefined) return
  for (const path of compilation.fileDependencies) outer.read('content', path)
  for (const path of compilation.buildDependencies) if (isAbsolute(path)) outer.read('content', path)
  for (const path of compilation.missingDependencies) outer.read('type', path)
  for (const path of compilation.contextDependencies) outer.read('tree', path)
  forwardKeys(inputs, outer)
}

/** What all modules report, also for what was read for none of them. */
function reportsOf(compilation: Compilation): Reports {
  const resources = Array.from(compilation.modules, (module) => String(Reflect.get(module, 'resource') ?? ''))
  const files = resources.map((resource) => resource.replace(/[?#].*$/, ''))
  return new Reports(compilation, [...files, ...compilation.buildDependencies])
}

/** The paths of all assets. webpack compares each with the file that is there, and writes it only if they differ. */
function assetsOf(compilation: Compilation, outputPath: string): Set<string> {
  const folder = compilation.getPath(outputPath, {})
  return new Set(compilation.getAssets().map(({ name }) => resolve(folder, name.replace(/\?.*$/, ''))))
}

/** The own inputs of a module that was built or stored with them. */
export function ownInputsOf(buildInfo: Module['buildInfo']): unknown {
  return buildInfo === undefined ? undefined : Reflect.get(buildInfo, OWN)
}

/** The paths of the loaders of a module. */
function loadersOf(module: Module): string[] {
  const loaders: unknown = Reflect.get(module, 'loaders')
  return Array.isArray(loaders) ? loaders.map(({ loader }: { loader?: unknown }) => String(loader)) : []
}

/** Where all loaders of the project come from, which may share modules. */
const OF_PROJECT = dirname('')

/** The directory of the installed package that a loader belongs to. */
function originOf(loader: string): string {
  return dirname(manifestOf(loader) ?? '')
}

function isRemote(module: Module): boolean {
  return /^https?:/.test(String(Reflect.get(module, 'resource')))
}

function isOfNames(kind: ReadKind): boolean {
  return kind === 'list' || kind === 'tree'
}

/** The kind and the path of a key. */
function partsOf(key: string): [kind: ReadKind, path: string] {
  const space = key.indexOf(' ')
  return [key.slice(0, space) as ReadKind, key.slice(space + 1)]
}

function addTo(sets: Map<string, Set<string>>, name: string, item: string): void {
  sets.set(name, (sets.get(name) ?? new Set()).add(item))
}

type PathSet = Iterable<string> & { add(path: string): unknown }
type Reported = 'fileDependencies' | 'missingDependencies' | 'contextDependencies'

/** The paths that a module or a compilation reports, if it has a set of them. */
function reportedIn(reported: object, name: Reported = 'fileDependencies'): PathSet | undefined {
  const found: unknown = Reflect.get(reported, name)
  return isPathSet(found) ? found : undefined
}

function isPathSet(value: unknown): value is PathSet {
  return typeof value === 'object' && value !== null && Symbol.iterator in value && 'add' in value
}

/** Whether `path` is `folder` or below it. Both are absolute and normalised. */
export function isBelow(path: string, folder: string): boolean {
  return path === folder || (folder !== '' && path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`))
}

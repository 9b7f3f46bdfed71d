/**
 * Records what loaders and plugins read without reporting it to webpack: files and directories through `node:fs`, modules
 * through `require`, and environment variables.
 *
 *   1. The build runs inside a sink of the recorder. Reads by webpack itself, through its input file system, are left out,
 *      because webpack compares these files itself. Loaders get that file system, too, in a form that is recorded.
 *   2. A file that was read while loaders built a module becomes a dependency of that module.
 *   3. After the build, every file that no module reported also becomes an input of the whole cache. Loaders read their
 *      configuration once, for the first module, and then keep it in memory.
 *
 * What counts is what the build has found, even if it changes before the environment is recorded.
 */
import { tmpdir } from 'node:os'
import * as nodePath from 'node:path'
import { basename, resolve } from 'node:path'
import {
  installReads,
  inUse,
  isArchive,
  isCountedVariable,
  isOutput,
  isPlugged,
  noteOutput,
  type ReadKind,
  recordedFiles,
  unrecordedNow,
} from 'varve/reads'
import type { Compilation, Compiler, Module, NormalModule } from 'webpack'
import { localModules, manifestOf } from '../build/modules.ts'
import { wrapFileSystem } from './file-system.ts'
import { InUse } from './in-use.ts'
import { Packages } from './packages.ts'
import { type InputKind, inputOf } from './recorded.ts'
import {
  BuildSink,
  type Changes,
  type Found,
  INPUT_KINDS,
  isBelow,
  loadersOf,
  ModuleSink,
  noteDigest,
} from './sinks.ts'
import { disk as fs } from '../host/files.ts'

type Installation = NonNullable<ReturnType<typeof installReads>>
type BuildInfo = NonNullable<NormalModule['buildInfo']>

const KERNEL = /^\/(?:proc|sys|dev)(?:\/|$)/

/** The disk as `Noted.hasChanged` takes it. */
const DISK = { fs, paths: nodePath }

/** The reads of one compiler. If it is not `isOn`, it records none, and what the compiler reads counts for no other one either. */
export class BuildReads {
  readonly isOn: boolean
  readonly #compiler: Compiler
  readonly #installed: Installation | undefined
  #sink: BuildSink | undefined
  #hasWarned = false
  /** True between the first build and the end of the compiler. */
  #isOpen = false
  /** Whether a path is not an input of the project. */
  #isIgnored: (path: string) => boolean = () => false
  /** The inputs of all builds. */
  readonly #inputs: Set<string> = new Set()
  /** Files that modules reported, and files that were added to their dependencies here. */
  readonly #reported: Set<string> = new Set()
  readonly #added: Set<string> = new Set()
  /** Files that were read for a module which did not report them: what other modules report does not cover that. */
  readonly #unreported: Set<string> = new Set()
  /** What was read for a module that reported no directory around it. */
  readonly #outside: Set<string> = new Set()
  readonly #modules: WeakMap<object, ModuleSink> = new WeakMap()
  /** What this compiler has read, and its code, as they were then; and the digests of inputs that are no contents, likewise. */
  readonly found: Found = { inUse: new InUse(), digests: new Map() }
  /** A file that the program has in memory as it no longer is: entries are neither used nor of use to others. */
  outdated: string | undefined
  /** What any build of the compiler changed. */
  readonly #changes: Changes = { written: new Set(), variables: new Set() }

  constructor(compiler: Compiler, isOn: boolean) {
    this.isOn = isOn
    this.#compiler = compiler
    this.#installed = installReads()
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
    const { variables } = localModules([...files])
    for (const name of variables) {
      if (!isCountedVariable(name, true) || this.#changes.variables.has(name)) continue
      this.#inputs.add(inputOf('variable', name))
      noteDigest(this.found.digests, inputOf('variable', name))
    }
  }

  /** Runs the rest of a build; called from a hook before it. */
  run(build: () => void): void {
    const installed = this.#installed
    if (installed === undefined) return build()
    this.#sink?.end() // the build before may have failed
    const packages = new Packages(this.#compiler.options.snapshot)
    const around = installed.storage.getStore() ?? undefined
    this.#sink = this.isOn ? new BuildSink(inUse(installed), this.found, this.#changes, packages, around) : undefined
    this.#takeStartUp(installed)
    if (this.#sink === undefined) return build()
    this.#isIgnored = ignoredBelow(this.#compiler)
    wrapFileSystem(this.#compiler.inputFileSystem)
    installed.storage.run(this.#sink, build)
  }

  /** Called when a compilation begins, of the compiler or of a child. */
  begin(compilation: Compilation): void {
    const installed = this.#installed
    const sink = this.#sink
    if (installed === undefined || sink === undefined) return
    const hooks = this.#compiler.webpack.NormalModule.getCompilationHooks(compilation)
    hooks.beforeLoaders.tap('VarveWebpackPlugin', (_, module, context) => {
      context.fs = recordedFiles(context.fs)
      const own = new ModuleSink(sink, module)
      this.#modules.set(module, own)
      installed.storage.enterWith(own)
    })
    hooks.beforeSnapshot.tap('VarveWebpackPlugin', (module) => installed.storage.run(null, () => this.#addTo(module)))
  }

  /** The module whose loaders run in the calling code. */
  get building(): Module | undefined {
    const sink = this.#installed?.storage.getStore()
    return sink instanceof ModuleSink && !sink.isOver ? sink.module : undefined
  }

  /**
   * Called when a build is over. Returns the inputs so far, without those that are `known`. `folder` is the cache directory.
   * A build that reads nothing else does not ask which files its modules reported, which takes longer than all the rest.
   */
  end(compilation: Compilation, folder: string, known: ReadonlySet<string>): ReadonlySet<string> {
    this.noteOutput(folder)
    const sink = this.#sink
    if (sink === undefined || sink.isOver) return this.#inputs
    sink.end()
    sink.forward(compilation, known)
    const isLeftOut = (path: string): boolean => this.#isIgnored(path) || isBelow(path, folder)
    let isReported: ((path: string) => boolean) | undefined
    for (const [kind, paths] of sink.reads) {
      for (const path of paths) {
        const input = inputOfRead(kind, path, sink.packages)
        if (input === undefined || known.has(input) || this.#inputs.has(input)) continue
        if (sink.written.has(path) || isLeftOut(path)) continue
        isReported ??= this.#reportedBy(compilation)
        if (!isReported(path)) this.#inputs.add(input)
      }
    }
    for (const name of sink.names) this.#inputs.add(inputOf('variable', name))
    return this.#inputs
  }

  /** Called when the compiler is closed. Later reads of the program belong to the next compiler. */
  close(): void {
    this.#sink?.end()
    if (this.#isOpen && this.#installed?.ambient !== undefined) this.#installed.ambient.scopes -= 1
    this.#isOpen = false
  }

  /** Whether a file is output of the process. */
  readonly isWritten = (path: string): boolean => this.#changes.written.has(path) || isOutput(path)

  /** Adds the files that the loaders of a module read to its dependencies, before webpack takes its snapshot. */
  #addTo(module: NormalModule): void {
    const own = this.#modules.get(module)
    const { buildInfo } = module
    const packages = this.#sink?.packages
    if (own === undefined || packages === undefined || buildInfo === undefined || buildInfo === null) return
    own.isOver = true
    if (loadersOf(module).some((loader) => this.#sink?.connected.has(loader))) this.#doNotStore(module, buildInfo)
    // Loaders that run a child compiler report the dependencies of its modules, including those added here.
    const reported = new Set(pathsIn(buildInfo, 'fileDependencies'))
    for (const path of reported) if (!this.#added.has(path)) this.#reported.add(path)
    for (const path of pathsIn(buildInfo, 'missingDependencies')) this.#reported.add(path)
    const contexts = [...pathsIn(buildInfo, 'contextDependencies')]
    for (const path of own.paths) if (!contexts.some((context) => isBelow(path, context))) this.#outside.add(path)
    own.paths.clear()
    for (const path of own.contents) {
      if (
        reported.has(path) ||
        packages.isInstalled(path) ||
        this.#isIgnored(path) ||
        this.#sink?.written.has(path) === true
      )
        continue
      addTo(buildInfo, 'fileDependencies', path)
      this.#added.add(path)
      if (!contexts.some((context) => isBelow(path, context))) this.#unreported.add(path)
    }
  }

  /** What a server answers may change at any time, so webpack builds the module each time. */
  #doNotStore(module: NormalModule, buildInfo: BuildInfo): void {
    buildInfo.cacheable = false
    if (this.#hasWarned) return
    this.#hasWarned = true
    const name = module.readableIdentifier(this.#compiler.requestShortener)
    this.#compiler
      .getInfrastructureLogger('VarveWebpackPlugin')
      .warn(`${name} and all modules with its loaders are built each time, because these connected to the network`)
  }

  /**
   * Whether a module reported a path, so that only this module depends on it, or the path is that of an asset. A `package.json` is never
   * left out: loaders keep the settings in it in memory, and an application that imports its version reports it for another reason. A path
   * in a reported directory is left out if each module for which it was read reported such a directory.
   */
  #reportedBy(compilation: Compilation): (path: string) => boolean {
    for (const { resource } of compilation.modules as Iterable<{ resource?: unknown }>) {
      if (typeof resource === 'string') this.#reported.add(resource.replace(/[?#].*$/, ''))
    }
    const { fileDependencies, missingDependencies, contextDependencies, buildDependencies } = compilation
    const contexts = [...contextDependencies]
    const assets = assetsOf(compilation, this.#compiler.outputPath)
    return (path) => {
      if (assets.has(path)) return true
      if (basename(path) === 'package.json' || this.#unreported.has(path)) return false
      if (this.#reported.has(path) || missingDependencies.has(path) || buildDependencies.has(path)) return true
      if (fileDependencies.has(path) && !this.#added.has(path)) return true
      return !this.#outside.has(path) && contexts.some((context) => isBelow(path, context))
    }
  }

  /** Takes the reads of the program before the build: its configuration, and not what it removes. */
  #takeStartUp({ ambient }: Installation): void {
    if (this.#isOpen || ambient === undefined) return
    this.#isOpen = true
    ambient.scopes += 1
    for (const read of ambient.reads.values()) {
      const { kind, path } = read
      if (isOutput(path)) continue
      // Whether the code in memory is that of the files is compared in `in-use.ts`.
      if (kind !== 'module' && unrecordedNow(() => read.hasChanged(DISK))) this.outdated ??= path
      else this.#sink?.read(kind, path)
    }
  }
}

/**
 * The input that a read is. A file of a package counts as the package, also if it is only looked for: a tool finds a package in the nearest
 * `node_modules` that has it. Hidden directories in `node_modules` belong to tools.
 */
function inputOfRead(read: ReadKind, path: string, packages: Packages): string | undefined {
  const kind = INPUT_KINDS.has(read) ? (read as InputKind) : 'content'
  if (!packages.isInstalled(path)) return isArchive(path) ? undefined : inputOf(kind, path)
  const manifest = manifestOf(path)
  return manifest === undefined ? undefined : inputOf(isPlugged() ? 'package' : 'content', manifest)
}

/** Whether a path is a kernel file, a temporary file (unless the project is one), or output of the compiler. */
function ignoredBelow({ context, outputPath }: Compiler): (path: string) => boolean {
  const temporary = tmpdir()
  const ignored = [temporary, outputPath].filter((folder) => folder !== '' && !isBelow(context, folder))
  return (path) => KERNEL.test(path) || ignored.some((folder) => isBelow(path, folder))
}

/** The paths of all assets. webpack compares each with the file that is there, and writes it only if they differ. */
function assetsOf(compilation: Compilation, outputPath: string): Set<string> {
  const folder = compilation.getPath(outputPath, {})
  return new Set(compilation.getAssets().map(({ name }) => resolve(folder, name.replace(/\?.*$/, ''))))
}

function pathsIn(
  info: BuildInfo,
  name: 'fileDependencies' | 'missingDependencies' | 'contextDependencies',
): Iterable<string> {
  const found: unknown = Reflect.get(info, name)
  return isPathSet(found) ? found : []
}

function addTo(info: BuildInfo, name: 'fileDependencies', path: string): void {
  const found: unknown = Reflect.get(info, name)
  if (isPathSet(found)) found.add(path)
}

function isPathSet(value: unknown): value is Iterable<string> & { add(path: string): unknown } {
  return typeof value === 'object' && value !== null && Symbol.iterator in value && 'add' in value
}

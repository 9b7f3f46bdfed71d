/**
 * What loaders and plugins read without reporting it to webpack: files and folders through `node:fs`, modules through
 * `require`, variables of the environment.
 *
 *   1. The build runs inside of a sink of the recorder. What webpack itself reads through its input file system is left out:
 *      webpack compares that by itself.
 *   2. A file that was read while loaders built a module becomes a dependency of that module.
 *   3. After the build, whatever no module had reported is an input of the whole cache as well: a configuration is read
 *      once, for the first module, and then held in memory.
 */
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { installReads, isCountedVariable } from 'varve/reads'
import type { Compilation, Compiler, NormalModule } from 'webpack'
import { type InputKind, inputOf } from './recorded.ts'

type Installation = NonNullable<ReturnType<typeof installReads>>
type Sink = NonNullable<ReturnType<Installation['storage']['getStore']>>
type ReadKind = Parameters<Sink['read']>[0]
type BuildInfo = NonNullable<NormalModule['buildInfo']>

const KERNEL = /^\/(?:proc|sys|dev)(?:\/|$)/
const PACKAGES = `${sep}node_modules${sep}`

/** What a kind of read makes an input; any other makes the content one. */
const INPUT_KINDS: ReadonlyMap<string, InputKind> = new Map([
  ['list', 'list'],
  ['tree', 'tree'],
  ['type', 'existence'],
  ['link', 'existence'],
])

/** Calls of webpack's input file system that are under way on this stack: reads that webpack compares by itself. */
let webpackReads = 0
const quiet: WeakSet<object> = new WeakSet()

/** The reads of one compiler. */
export class BuildReads {
  readonly #compiler: Compiler
  readonly #installed: Installation | undefined
  #sink: BuildSink | undefined
  /** Between the first build and the end of the compiler. */
  #isOpen = false
  /** Whether a path is none of the project's inputs. */
  #isIgnored: (path: string) => boolean = () => false
  /** Everything that counts, over all builds. */
  readonly #inputs: Set<string> = new Set()
  /** What modules reported by themselves, and what was added to them here. */
  readonly #reported: Set<string> = new Set()
  readonly #added: Set<string> = new Set()
  readonly #modules: WeakMap<object, ModuleSink> = new WeakMap()

  constructor(compiler: Compiler) {
    this.#compiler = compiler
    this.#installed = installReads()
  }

  /** Runs the rest of a build, from a hook before it. */
  run(build: () => void): void {
    const installed = this.#installed
    if (installed === undefined) return build()
    this.#sink = new BuildSink()
    this.#isIgnored = ignoredBelow(this.#compiler)
    beQuiet(this.#compiler.inputFileSystem)
    this.#takeStartUp(installed)
    installed.storage.run(this.#sink, build)
  }

  /** A compilation begins, of the compiler or of a child. */
  begin(compilation: Compilation): void {
    const installed = this.#installed
    const sink = this.#sink
    if (installed === undefined || sink === undefined) return
    const hooks = this.#compiler.webpack.NormalModule.getCompilationHooks(compilation)
    hooks.beforeLoaders.tap('VarveWebpackPlugin', (_, module) => {
      const own = new ModuleSink(sink)
      this.#modules.set(module, own)
      installed.storage.enterWith(own)
    })
    hooks.beforeSnapshot.tap('VarveWebpackPlugin', (module) => installed.storage.run(null, () => this.#addTo(module)))
  }

  /** A build is over: everything that counts so far. `folder` is that of the cache. */
  end(compilation: Compilation, folder: string): ReadonlySet<string> {
    const sink = this.#sink
    if (sink === undefined || sink.isOver) return this.#inputs
    sink.isOver = true
    for (const { resource } of compilation.modules as Iterable<{ resource?: unknown }>) {
      if (typeof resource === 'string') this.#reported.add(resource.replace(/[?#].*$/, ''))
    }
    const isReported = this.#reportedBy(compilation)
    for (const [kind, paths] of sink.reads) {
      for (const path of paths) {
        if (sink.written.has(path) || this.#isIgnored(path) || isBelow(path, folder) || isReported(path)) continue
        this.#count(INPUT_KINDS.get(kind) ?? 'content', path)
      }
    }
    for (const name of sink.names) this.#inputs.add(inputOf('variable', name))
    return this.#inputs
  }

  /** The compiler was closed: what the program reads now is for the next one. */
  close(): void {
    if (this.#isOpen && this.#installed?.ambient !== undefined) this.#installed.ambient.scopes -= 1
    this.#isOpen = false
  }

  /** A file of a package counts as the package; hidden folders beside packages belong to tools. */
  #count(kind: InputKind, path: string): void {
    const at = path.lastIndexOf(PACKAGES)
    if (at === -1) return void this.#inputs.add(inputOf(kind, path))
    const [first = '', second = ''] = path.slice(at + PACKAGES.length).split(sep)
    if (first.startsWith('.') || kind !== 'content') return
    const name = first.startsWith('@') ? join(first, second) : first
    this.#inputs.add(inputOf('content', join(path.slice(0, at + PACKAGES.length), name, 'package.json')))
  }

  /** What the loaders of a module read becomes its dependency; the snapshot that webpack takes next has it. */
  #addTo(module: NormalModule): void {
    const own = this.#modules.get(module)
    const { buildInfo } = module
    if (own === undefined || buildInfo === undefined || buildInfo === null) return
    own.isOver = true
    // Loaders that run a child compiler report what its modules depend on, what was added here included.
    for (const path of pathsIn(buildInfo, 'fileDependencies')) if (!this.#added.has(path)) this.#reported.add(path)
    for (const path of pathsIn(buildInfo, 'missingDependencies')) this.#reported.add(path)
    for (const path of own.contents) {
      if (this.#reported.has(path) || path.includes(PACKAGES) || this.#isIgnored(path) || this.#sink?.written.has(path) === true) continue
      addTo(buildInfo, 'fileDependencies', path)
      this.#added.add(path)
    }
  }

  #reportedBy(compilation: Compilation): (path: string) => boolean {
    const { fileDependencies, missingDependencies, contextDependencies, buildDependencies } = compilation
    const contexts = [...contextDependencies]
    return (path) => {
      if (this.#reported.has(path) || missingDependencies.has(path) || buildDependencies.has(path)) return true
      return (fileDependencies.has(path) && !this.#added.has(path)) || contexts.some((context) => isBelow(path, context))
    }
  }

  /** What the program read before the build: its configuration. */
  #takeStartUp({ ambient }: Installation): void {
    if (this.#isOpen || ambient === undefined) return
    this.#isOpen = true
    ambient.scopes += 1
    for (const { kind, path } of ambient.reads.values()) this.#sink?.read(kind, path)
  }
}

/** Takes the reads of one build. */
class BuildSink implements Sink {
  readonly reads: Map<ReadKind, Set<string>> = new Map()
  readonly names: Set<string> = new Set()
  readonly written: Set<string> = new Set()
  isOver = false

  read(kind: ReadKind, path: string): void {
    if (this.isOver || webpackReads > 0) return
    const found = this.reads.get(kind)
    if (found === undefined) this.reads.set(kind, new Set([path]))
    else found.add(path)
  }

  wrote(path: string): void {
    if (!this.isOver) this.written.add(path)
  }

  /** Going through all variables, as starting a process does, says of none that it matters. */
  variable(name: string, isListed: boolean): void {
    if (!this.isOver && !isListed && !this.names.has(name) && isCountedVariable(name, false)) this.names.add(name)
  }

  variables(): void {}

  /** webpack's own cache sees no processes either: thread-loader and minimizers start them in most builds. */
  opaque(): void {}
}

/** The same, with the files that were read until the module was built. */
class ModuleSink implements Sink {
  readonly contents: Set<string> = new Set()
  readonly #build: BuildSink
  isOver = false

  constructor(build: BuildSink) {
    this.#build = build
  }

  read(kind: ReadKind, path: string): void {
    this.#build.read(kind, path)
    if (kind === 'content' && !this.isOver && webpackReads === 0) this.contents.add(path)
  }

  wrote(path: string): void {
    this.#build.wrote(path)
  }

  variable(name: string, isListed: boolean): void {
    this.#build.variable(name, isListed)
  }

  variables(): void {}

  opaque(): void {}
}

/** Marks what webpack reads through this file system, in its own methods. */
function beQuiet(fileSystem: Compiler['inputFileSystem']): void {
  if (fileSystem === null || quiet.has(fileSystem)) return
  quiet.add(fileSystem)
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

/** Kernel files, temporary ones unless the project is among them, and what the compiler emits. */
function ignoredBelow({ context, outputPath }: Compiler): (path: string) => boolean {
  const temporary = tmpdir()
  const ignored = [temporary, outputPath].filter((folder) => folder !== '' && !isBelow(context, folder))
  return (path) => KERNEL.test(path) || ignored.some((folder) => isBelow(path, folder))
}

/** Both are absolute and normal. */
function isBelow(path: string, folder: string): boolean {
  return path === folder || (folder !== '' && path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`))
}

function pathsIn(info: BuildInfo, name: 'fileDependencies' | 'missingDependencies'): Iterable<string> {
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

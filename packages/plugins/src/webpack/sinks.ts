/** Receive what a build and each of its modules read. */
import { dirname, isAbsolute, sep } from 'node:path'
import { forEachLoaded, type installReads, isCountedVariable, type ReadKind, unrecordedNow } from 'varve/reads'
import type { Compilation, Module } from 'webpack'
import { isReadOfWebpack } from './file-system.ts'
import type { InUse } from './in-use.ts'
import type { Packages } from './packages.ts'
import { digestOf, type InputKind, inputOf, isReadKind, partsOf } from './recorded.ts'

type Installation = NonNullable<ReturnType<typeof installReads>>
type Sink = NonNullable<ReturnType<Installation['storage']['getStore']>>

/** The kinds of reads that are inputs of their own kind; all others are `content`. */
export const INPUT_KINDS: ReadonlySet<ReadKind> = new Set(['list', 'tree', 'type', 'link'])

/** What a compiler has found. */
export interface Found {
  readonly inUse: InUse
  /** By input; see `recorded.ts`. */
  readonly digests: Map<string, string>
}

/** What the builds of a compiler changed. Of that, only what they found before is an input. */
export interface Changes {
  /** Files. */
  readonly written: Set<string>
  /** Environment variables. */
  readonly variables: Set<string>
}

/** Receives the reads of one build, and passes them on to the work around it. */
export class BuildSink implements Sink {
  /** Receives the reads of the work in which the build runs. */
  readonly outer: Sink | undefined
  readonly reads: Map<ReadKind, Set<string>> = new Map()
  readonly names: Set<string> = new Set()
  /** Loaders of modules that connected to the network: they may have an answer in memory for all their modules. */
  readonly connected: Set<string> = new Set()
  readonly packages: Packages
  readonly written: Set<string>
  readonly #variables: Set<string>
  readonly #release: () => void
  readonly #found: Found
  isOver = false

  /** `around`: the sink of the code that begins the build, perhaps that of another build. */
  constructor(
    release: () => void,
    found: Found,
    { written, variables }: Changes,
    packages: Packages,
    around: Sink | undefined,
  ) {
    this.outer = around instanceof ModuleSink || around instanceof BuildSink ? around.outer : around
    this.#release = release
    this.packages = packages
    this.#found = found
    this.written = written
    this.#variables = variables
  }

  /** Hosts do much else after a build, and before Node.js 24 each promise costs more while the storage is in use. */
  end(): void {
    if (!this.isOver) this.#release()
    this.isOver = true
  }

  /** The work around depends on what the build depends on, also on modules that came from the cache. */
  forward(
    { fileDependencies, contextDependencies, missingDependencies, buildDependencies }: Compilation,
    inputs: Iterable<string>,
  ): void {
    const { outer } = this
    if (outer === undefined) return
    for (const path of fileDependencies) outer.read('content', path)
    for (const path of buildDependencies) if (isAbsolute(path)) outer.read('content', path)
    for (const path of missingDependencies) outer.read('type', path)
    for (const path of contextDependencies) outer.read('tree', path)
    for (const [kind, name] of Array.from(inputs, partsOf)) {
      const read = kind === 'existence' ? 'type' : kind
      if (kind === 'variable') outer.variable(name, false)
      else if (isReadKind(read)) outer.read(read, name)
    }
  }

  read(kind: ReadKind, path: string): void {
    if (kind === 'module') forEachLoaded(path, (module) => this.#read(kind, module))
    else this.#read(kind, path)
  }

  /** Returns whether the read is new to the build. */
  #read(kind: ReadKind, path: string): boolean {
    this.outer?.read(kind, path)
    if (this.isOver || isReadOfWebpack()) return false
    const paths = this.reads.get(kind) ?? new Set()
    if (paths.has(path)) return false
    this.reads.set(kind, paths.add(path))
    const source = this.packages.isInstalled(path) ? this.packages.sourceOf(path) : undefined
    if (source === undefined) this.#note(kind, path)
    else if (source !== path) this.read(kind, source)
    return true
  }

  /** Directories count as the build leaves them, if it writes to them. */
  wrote(path: string): void {
    this.outer?.wrote(path)
    if (this.isOver || this.written.has(path)) return
    this.written.add(path)
    const { digests } = this.#found
    digests.delete(inputOf('list', dirname(path)))
    for (const input of digests.keys())
      if (input.startsWith('tree ') && isBelow(path, input.slice('tree '.length))) digests.delete(input)
  }

  #note(kind: ReadKind, path: string): void {
    const { inUse: files, digests } = this.#found
    if (INPUT_KINDS.has(kind)) noteDigest(digests, inputOf(kind as InputKind, path))
    else files.noteRead(path)
  }

  /** Leaves out variables that were only listed, as when a process starts: listing them shows no use of one. */
  variable(name: string, isListed: boolean): void {
    this.outer?.variable(name, isListed)
    if (this.isOver || isListed || this.names.has(name) || this.#variables.has(name) || !isCountedVariable(name, false))
      return
    this.names.add(name)
    noteDigest(this.#found.digests, inputOf('variable', name))
  }

  variables(prefix: string): void {
    this.outer?.variables(prefix)
  }

  /** The next process finds it as this one did before, and its build changes it again. */
  changedVariable(name: string): void {
    this.outer?.changedVariable(name)
    if (!this.isOver) this.#variables.add(name)
  }

  /** Ends nothing for the build itself, as with webpack's own cache: thread-loader and minimizers start processes in most builds. */
  opaque(event: Parameters<Sink['opaque']>[0]): void {
    this.outer?.opaque(event)
  }
}

/** Passes reads on to the build, and records the files that were read until the module was built. */
export class ModuleSink implements Sink {
  readonly contents: Set<string> = new Set()
  /** All paths that were read, in whatever way. */
  readonly paths: Set<string> = new Set()
  readonly module: Module
  readonly #build: BuildSink
  isOver = false

  constructor(build: BuildSink, module: Module) {
    this.#build = build
    this.module = module
  }

  get outer(): Sink | undefined {
    return this.#build.outer
  }

  read(kind: ReadKind, path: string): void {
    this.#build.read(kind, path)
    if (this.isOver || isReadOfWebpack()) return
    const source = this.#build.packages.sourceOf(path)
    this.paths.add(source)
    if (kind === 'content') this.contents.add(source)
  }

  wrote(path: string): void {
    this.#build.wrote(path)
  }

  variable(name: string, isListed: boolean): void {
    this.#build.variable(name, isListed)
  }

  variables(prefix: string): void {
    this.#build.variables(prefix)
  }

  changedVariable(name: string): void {
    this.#build.changedVariable(name)
  }

  /** webpack reads modules from the network itself, with a lock file. */
  opaque(event: Parameters<Sink['opaque']>[0]): void {
    if (event.kind === 'network' && !this.isOver && !isRemote(this.module))
      for (const loader of loadersOf(this.module)) this.#build.connected.add(loader)
    this.#build.opaque(event)
  }
}

/** The paths of the loaders of a module. */
export function loadersOf(module: Module): string[] {
  const loaders: unknown = Reflect.get(module, 'loaders')
  return Array.isArray(loaders) ? loaders.map(({ loader }: { loader?: unknown }) => String(loader)) : []
}

function isRemote(module: Module): boolean {
  return /^https?:/.test(String(Reflect.get(module, 'resource')))
}

/** Notes an input as it is now, unless it is noted already. */
export function noteDigest(digests: Map<string, string>, input: string): void {
  if (!digests.has(input))
    digests.set(
      input,
      unrecordedNow(() => digestOf(input)),
    )
}

/** Whether `path` is `folder` or below it. Both are absolute and normalised. */
export function isBelow(path: string, folder: string): boolean {
  return path === folder || (folder !== '' && path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`))
}

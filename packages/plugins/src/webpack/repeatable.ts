/**
 * What a build that takes modules from the cache cannot repeat. Loaders do not run for such modules, so what they did besides their results
 * is missing in that build:
 *
 *   an error of the compilation      of a plugin, and no module has it (ts-loader)             nothing of the build is stored
 *   a warning, a file                of a plugin in whose package, or project, loaders ran     nothing of the build is stored
 *   a file on the disk               of a loader, as is what one asks a process or a server    the module of that loader is not stored
 *   an error or warning of a module  that only a loader asked for (importModule, a child)      the module of that loader is not stored
 *   a module without a file          a loader or a resolver writes it into memory              nothing is read unless it is there already
 *   a warning, a file                of another plugin                                         the next build is compared with this one
 *
 *   steady -> suspected   the next build lacks them, so the one after it reads nothing
 *          -> stateful    they are back: nothing is read or stored until the environment changes
 *          -> steady      they are not: sources or plugins decided so
 */
import { dirname, isAbsolute, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseJson } from 'varve/internal'
import type { Compilation, Compiler, Module } from 'webpack'
import { manifestOf } from '../build/modules.ts'
import { partsOf } from './why.ts'
import { disk } from '../host/files.ts'

const NAME = 'VarveWebpackPlugin'

/** Packages that have loaders, and compute their files and warnings from the modules of a compilation all the same. */
const STATELESS: ReadonlySet<string> = new Set(['html-webpack-plugin', 'mini-css-extract-plugin'])

/** Errors and warnings that webpack makes of the dependencies of a module, again in each build. */
const OF_DEPENDENCIES: ReadonlySet<unknown> = new Set(['ModuleDependencyError', 'ModuleDependencyWarning'])

/** The directory of the installed package that some code belongs to; empty for the project. */
type Origin = string
const PROJECT: Origin = ''

/** Begins the text of a warning among the names of files. */
const WARNING = 'warning: '

/** The limit of names in a warning. */
const SHOWN_MAX = 3

/** Stands for the stack of a message that webpack made. Its own stack may be that of a plugin. */
const OF_WEBPACK = 'webpack'

/** What is stored of a build, to be compared with the next one. */
interface Seen {
  /** Files and warnings of plugins. */
  readonly made: readonly string[]
  /** Modules and their dependencies that exist only in memory. */
  readonly memory: readonly string[]
  /** What a build with restored modules lacked. */
  readonly lost: readonly string[]
  /** Whether a build without restored modules had it again. */
  readonly isStateful: boolean
}

const NOTHING: Seen = { made: [], memory: [], lost: [], isStateful: false }

/** What must not be stored of a build. */
interface Unrepeatable {
  /** Identifiers of modules, as webpack stores them. */
  readonly modules: Set<string>
  /** What loaders of one of them did besides their result, as a sentence. */
  did?: string
  /** What prevents storing anything. */
  everything?: { readonly what: string; readonly isError: boolean }
}

/** The loaders of one compiler. */
interface Loaders {
  readonly isOn: boolean
  /** The module whose loaders run in the calling code. */
  readonly building: Module | undefined
  /** What the loaders of a module did besides their result, in words. */
  didBesides(module: Module): string | undefined
}

/** The builds of one compiler. */
export class Repeatable {
  readonly #compiler: Compiler
  readonly #reads: Loaders
  readonly #isStateless: boolean
  /** The modules whose loaders began a child compiler. */
  readonly #starters: WeakMap<Compiler, Module> = new WeakMap()
  /** Where files come from, by the name that stands for them. webpack's own are undefined. */
  #emitters: Map<string, Origin | undefined> = new Map()
  #webpack: string | undefined
  #seen: Seen = NOTHING
  /** Modules that were in memory in an earlier build, and not when this one began. */
  #absent: readonly string[] = []
  /** Whether there is something to be stored. */
  isChanged = false

  /** If `reads` are off, it is unknown for which modules loaders run. With `isStateless`, plugins are trusted. */
  constructor(compiler: Compiler, reads: Loaders, isStateless: boolean) {
    this.#compiler = compiler
    this.#reads = reads
    this.#isStateless = isStateless
  }

  /** Called when a compilation of the compiler or of a child begins. */
  begin(compilation: Compilation): void {
    this.#webpack ??= webpackIn(filesIn(stackAbove(this.begin)))
    compilation.hooks.childCompiler.tap(NAME, (child) => {
      const starter = this.#reads.building
      if (starter !== undefined) this.#starters.set(child, starter)
    })
    if (compilation.compiler !== this.#compiler) return
    const emitters = (this.#emitters = new Map())
    const { emitAsset } = compilation
    const emit: typeof emitAsset = (file, source, info) => {
      emitters.set(steadyName(file), this.#originOf(stackAbove(emit)))
      emitAsset.call(compilation, file, source, info)
    }
    compilation.emitAsset = emit
  }

  /** Called with what an earlier process has stored, before loaders run. Returns whether this one may read the entries. */
  load(stored: Buffer | undefined): boolean {
    this.#seen = decode(stored)
    if (this.#isStateless) this.#seen = { ...NOTHING, memory: this.#seen.memory }
    const { memory, lost, isStateful } = this.#seen
    this.#absent = memory.filter((path) => !isIn(this.#compiler, path))
    return !isStateful && lost.length === 0 && this.#absent.length === 0
  }

  /** Whether nothing of this compiler can be used. */
  get isStateful(): boolean {
    return this.#seen.isStateful
  }

  /** What builds with restored modules lack. */
  get lost(): readonly string[] {
    return this.#seen.lost
  }

  /** The bytes to be stored, if they are others than those that were loaded. */
  changed(): Buffer | undefined {
    if (!this.isChanged) return undefined
    this.isChanged = false
    return Buffer.from(JSON.stringify(this.#seen))
  }

  /**
   * Called when the first build of a process is over. `hasRestored`: whether it took anything from the cache. Returns what it lacks, which
   * loaders have to make again.
   */
  compare(compilation: Compilation, hasRestored: boolean): readonly string[] {
    const before = this.#seen
    const made = new Set(this.#isStateless ? [] : this.#madeBy(compilation))
    const isBuilt = hasBuilt(compilation)
    // Warnings of what was built again may be gone for good.
    const isLost = (name: string): boolean => !made.has(name) && !(isBuilt && name.startsWith(WARNING))
    const missing = hasRestored ? before.made.filter(isLost) : []
    const isStateful = !hasRestored && before.lost.some((name) => made.has(name))
    const memory = isBuilt ? memoryOf(compilation) : new Set(before.memory)
    if (hasRestored) for (const path of before.memory) memory.add(path)
    const lost = isStateful ? before.lost : missing
    this.#change({ made: missing.length > 0 ? before.made : [...made], memory: [...memory], lost, isStateful })
    return lost
  }

  /** What must not be stored of a build. */
  unrepeatable(compilation: Compilation): Unrepeatable {
    const found: Unrepeatable = { modules: new Set() }
    this.#judgeMessages(compilation, found)
    if (this.#isStateless) delete found.everything
    this.#judgeLoaders(compilation, found)
    const suspect = this.#isStateless
      ? undefined
      : [...this.#filesOfPlugins(compilation)].find(([, origin]) => this.#hasLoaders(origin, compilation))
    if (suspect !== undefined) refuse(found, `the file '${suspect[0]}' of ${shown(suspect[1])}`)
    const written = this.#absent.filter((path) => isIn(this.#compiler, path))
    if (written.length > 0)
      refuse(found, `${listOf(written)}, which a loader or a plugin wrote into memory while it ran`)
    return found
  }

  /** Whether a failure of a whole build, or of a compilation, is that of a plugin whose package has loaders. */
  isOfLoaders(error: unknown, compilation: Compilation): boolean {
    const origin = this.#originOf(stackOf(error))
    return !this.#isStateless && origin !== undefined && this.#hasLoaders(origin, compilation)
  }

  #judgeMessages(compilation: Compilation, found: Unrepeatable): void {
    const errors = new Set<unknown>(compilation.getErrors())
    const messages = [...errors, ...compilation.getWarnings()]
    if (messages.length > 0) {
      const carriers = carriersIn(compilation)
      const reachable = reachableIn(compilation)
      for (const message of messages) this.#judge(message, { compilation, carriers, reachable, errors }, found)
      const parent = compilation.compiler.parentCompilation
      if (!this.#leaveOutStarter(compilation, found) && parent !== undefined && !this.#reads.isOn)
        refuse(found, `a message of the compiler '${String(compilation.compiler.name)}'`)
    }
    for (const child of compilation.children) this.#judgeMessages(child, found)
  }

  #judgeLoaders(compilation: Compilation, found: Unrepeatable): void {
    const made = [...partsOf(compilation.modules)].filter((module) => this.#reads.didBesides(module) !== undefined)
    const [first] = made
    if (first !== undefined) {
      const reachable = reachableIn(compilation)
      for (const module of made) leaveOut(module, compilation, reachable, found)
      this.#leaveOutStarter(compilation, found)
      const name = first.readableIdentifier(compilation.requestShortener)
      found.did ??= `${name} is not stored, because its loaders ${this.#reads.didBesides(first)}`
    }
    for (const child of compilation.children) this.#judgeLoaders(child, found)
  }

  /** Leaves out the module whose loaders began a child compiler. Returns whether there is one. */
  #leaveOutStarter({ compiler }: Compilation, found: Unrepeatable): boolean {
    const starter = this.#starters.get(compiler)
    const parent = compiler.parentCompilation
    if (starter === undefined || parent === undefined) return false
    leaveOut(starter, parent, reachableIn(parent), found)
    return true
  }

  #judge(message: unknown, { compilation, carriers, reachable, errors }: Messages, found: Unrepeatable): void {
    const carrier = carriers.get(message)
    const module = carrier ?? moduleOf(message)
    if (module !== undefined && !reachable.has(module))
      leaveOut(issuerOf(module, compilation), compilation, reachable, found)
    else if (carrier === undefined && isOfRequest(message)) leaveOut(module, compilation, reachable, found)
    const origin = carrier === undefined ? this.#originOf(stackOf(message)) : undefined
    if (origin === undefined) return
    if (errors.has(message)) refuse(found, `an error of ${shown(origin)} (${firstLine(message)})`, true)
    else if (this.#hasLoaders(origin, compilation))
      refuse(found, `a warning of ${shown(origin)} (${firstLine(message)})`)
  }

  /** Files that plugins emitted, by the name that stands for them. Those of chunks and modules are left out, and copies of files. */
  *#filesOfPlugins(compilation: Compilation): Generator<[name: string, origin: Origin]> {
    const others = new Set<string>()
    addFilesOf(compilation, others)
    for (const { name, info } of compilation.getAssets()) {
      const steady = steadyName(name)
      if (others.has(name) || Reflect.get(info, 'copied') === true) continue
      const isKnown = this.#emitters.has(steady)
      const origin = isKnown ? this.#emitters.get(steady) : PROJECT
      if (origin !== undefined) yield [steady, origin]
    }
  }

  *#madeBy(compilation: Compilation): Generator<string> {
    for (const [name] of this.#filesOfPlugins(compilation)) yield name
    const carriers = carriersIn(compilation)
    for (const warning of compilation.getWarnings())
      if (!carriers.has(warning) && this.#originOf(stackOf(warning)) !== undefined) yield WARNING + firstLine(warning)
  }

  /** The package that made something; undefined for webpack, which makes it again in each build. */
  #originOf(stack: string): Origin | undefined {
    if (stack === OF_WEBPACK) return undefined
    const [path] = filesIn(stack)
    if (path === undefined) return PROJECT
    return this.#webpack !== undefined && path.startsWith(this.#webpack + sep) ? undefined : packageOf(path)
  }

  /** Whether loaders of a package ran, or could have run, in a compilation or its children. */
  #hasLoaders(origin: Origin, { modules, children }: Compilation): boolean {
    if (STATELESS.has(nameOf(origin))) return false
    for (const module of partsOf(modules)) {
      const loaders: unknown = Reflect.get(module, 'loaders')
      for (const { loader } of (Array.isArray(loaders) ? loaders : []) as { loader?: unknown }[])
        if (typeof loader === 'string' && isAbsolute(loader) && packageOf(loader) === origin) return true
    }
    return children.some((child) => this.#hasLoaders(origin, child))
  }

  #change(seen: Seen): void {
    this.isChanged ||= JSON.stringify(seen) !== JSON.stringify(this.#seen)
    this.#seen = seen
  }
}

/** The messages of a compilation, and what is known of its modules. */
interface Messages {
  readonly compilation: Compilation
  /** The modules that have messages, with which these are stored. */
  readonly carriers: ReadonlyMap<unknown, Module>
  /** The modules to which entries lead. */
  readonly reachable: ReadonlySet<Module>
  readonly errors: ReadonlySet<unknown>
}

function carriersIn({ modules }: Compilation): Map<unknown, Module> {
  const carriers = new Map<unknown, Module>()
  for (const module of partsOf(modules))
    for (const message of [...(module.getErrors() ?? []), ...(module.getWarnings() ?? [])])
      carriers.set(message, module)
  return carriers
}

function reachableIn({ entries, globalEntry, moduleGraph }: Compilation): Set<Module> {
  const found = new Set<Module>()
  const add = (module: Module | null): void => {
    if (module === null) return
    for (const part of [module, ...partsOf([module])]) found.add(part)
  }
  for (const { dependencies, includeDependencies } of [globalEntry, ...entries.values()])
    for (const dependency of [...dependencies, ...includeDependencies]) add(moduleGraph.getModule(dependency))
  for (const module of found)
    for (const { module: target, resolvedModule } of moduleGraph.getOutgoingConnections(module)) {
      add(target)
      add(resolvedModule)
    }
  return found
}

/** Leaves out a module and those whose loaders asked for it, up to one that an entry leads to. */
function leaveOut(
  module: Module | undefined,
  compilation: Compilation,
  reachable: ReadonlySet<Module>,
  found: Unrepeatable,
): void {
  const left = new Set<Module>()
  for (let one = module; one !== undefined && !left.has(one); one = issuerOf(one, compilation)) {
    left.add(one)
    found.modules.add(`${compilation.compiler.compilerPath}Compilation/modules|${one.identifier()}`)
    if (reachable.has(one)) return
  }
  refuse(found, 'a message of a module that nothing imports')
}

/** Notes the first reason why nothing can be stored. */
function refuse(found: Unrepeatable, what: string, isError = false): void {
  found.everything ??= { what, isError }
}

function issuerOf(module: Module, { moduleGraph }: Compilation): Module | undefined {
  return moduleGraph.getIssuer(module) ?? undefined
}

function moduleOf(message: unknown): Module | undefined {
  const module = propertyOf(message, 'module')
  return typeof module === 'object' && module !== null && 'identifier' in module ? (module as Module) : undefined
}

/** Whether webpack made a message of what a loader requested: such a request has a name, and no place in a source. */
function isOfRequest(message: unknown): boolean {
  const place = propertyOf(message, 'loc')
  return typeof place === 'object' && place !== null && 'name' in place && !('start' in place) && !('index' in place)
}

/** The stack that shows who made a message. */
function stackOf(message: unknown): string {
  const name = propertyOf(message, 'name')
  if (OF_DEPENDENCIES.has(name)) return OF_WEBPACK
  const inner = name === 'HookWebpackError' ? propertyOf(message, 'error') : undefined
  return String(propertyOf(inner ?? message, 'stack') ?? '')
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

function firstLine(message: unknown): string {
  const text = typeof message === 'string' ? message : String(propertyOf(message, 'message') ?? '')
  return text.trimStart().split('\n', 1)[0] ?? ''
}

/** The stack above a function, as text. */
function stackAbove(callee: (...args: never[]) => unknown): string {
  const holder: { stack?: unknown } = {}
  Error.captureStackTrace(holder, callee)
  return String(holder.stack)
}

/** The files in a stack, the innermost first. Code that `eval` made has none. */
function filesIn(stack: string): string[] {
  return stack.split('\n').flatMap((line) => {
    const [, place = ''] =
      /^\s+at (?:async )?(?:.*\()?((?:file:\/\/|[A-Za-z]:[\\/]|\/).*?):\d+:\d+\)?$/.exec(line) ?? []
    if (place === '' || line.includes('eval at ')) return []
    return [place.startsWith('file:') ? fileURLToPath(place.replace(/[?#].*$/, '')) : place]
  })
}

/** The directory of webpack: of the first file on the stack below this plugin and tapable. */
function webpackIn([own = '', ...others]: readonly string[]): string | undefined {
  const file = others.find((path) => !path.startsWith(dirname(own) + sep) && !/[\\/]tapable[\\/]/.test(path))
  return file === undefined ? undefined : packageOf(file) || dirname(dirname(file))
}

function packageOf(path: string): Origin {
  return dirname(manifestOf(path) ?? '.').replace(/^\.$/, PROJECT)
}

/** The name of the package in a directory. */
function nameOf(origin: Origin): string {
  return origin
    .split(sep)
    .join('/')
    .replace(/^.*\/node_modules\//, '')
}

function shown(origin: Origin): string {
  return origin === PROJECT ? 'a plugin of the project' : `'${nameOf(origin)}'`
}

/** A name without what differs from build to build. */
function steadyName(name: string): string {
  return name.replace(/\?.*$/, '').replaceAll(/[0-9a-f]{8,}|\d+/gi, '*')
}

/** Adds the files of chunks and of modules, and those that webpack derived from a file, such as source maps. */
function addFilesOf(compilation: Compilation, files: Set<string>): void {
  const { chunks, modules, children } = compilation
  for (const chunk of chunks) for (const file of [...chunk.files, ...chunk.auxiliaryFiles]) files.add(file)
  for (const { buildInfo } of partsOf(modules)) for (const file of Object.keys(buildInfo?.assets ?? {})) files.add(file)
  for (const { info } of compilation.getAssets())
    for (const file of Object.values(info.related ?? {}).flat()) if (typeof file === 'string') files.add(file)
  for (const child of children) addFilesOf(child, files)
}

function hasBuilt({ builtModules, modules, children }: Compilation): boolean {
  return [...partsOf(modules)].some((module) => builtModules.has(module)) || children.some(hasBuilt)
}

/**
 * The files that the disk has not: of modules that were built all the same, and those that the compiler finds and modules depend on. Some
 * plugins answer only the calls that webpack makes.
 */
function memoryOf(compilation: Compilation, files: Set<string> = new Set()): Set<string> {
  const { compiler, modules, builtModules, children } = compilation
  const note = (path: string, isThere = false): void => {
    if (isAbsolute(path) && !disk.existsSync(path) && (isThere || isIn(compiler, path))) files.add(path)
  }
  for (const module of partsOf(modules)) {
    const resource: unknown = Reflect.get(module, 'resource')
    const isMade = builtModules.has(module) && module.getNumberOfErrors() === 0
    if (typeof resource === 'string') note(resource.replace(/[?#].*$/, ''), isMade)
    const snapshot = builtModules.has(module) ? module.buildInfo?.snapshot : undefined
    for (const path of snapshot?.getFileIterable() ?? []) note(path)
  }
  for (const child of children) memoryOf(child, files)
  return files
}

function isIn({ inputFileSystem }: Compiler, path: string): boolean {
  try {
    return inputFileSystem?.statSync?.(path) !== undefined
  } catch {
    return false
  }
}

/** Names for a reader. */
export function listOf(names: readonly string[]): string {
  const more = names.length - SHOWN_MAX
  return names.slice(0, SHOWN_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** What was stored; nothing if it has another form. */
function decode(stored: Buffer | undefined): Seen {
  try {
    const value: unknown = parseJson(stored?.toString() ?? '{}')
    const textsOf = (name: string): string[] => {
      const found = propertyOf(value, name)
      return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : []
    }
    return {
      made: textsOf('made'),
      memory: textsOf('memory'),
      lost: textsOf('lost'),
      isStateful: propertyOf(value, 'isStateful') === true,
    }
  } catch {
    return NOTHING
  }
}

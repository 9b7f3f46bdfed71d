/**
 * Counts the modules of a compiler's first build: from the cache, or built and why. Each built module gets what building it
 * cost (loaders and parsing) in its build info, which webpack stores with the module. That is the time that a hit saves;
 * resolving, code generation and minimizing are not in it.
 *
 * Later builds of a watching compiler are answered by webpack's memory cache, so they are not counted.
 *
 * For `varve view`, it also stores what the packs of modules consist of: a pack is one value, and its bytes are shared by hundreds of
 * modules. The namespace `parts:<namespace of the packs>` has an entry for each such pack, with its key:
 *
 *   [['<varve:root>/src/a.js', 1200, 3.5], ..]    path, bytes of the source, and milliseconds that building it cost
 */
import { type BuildCounts, type Cache, type CommitReport, type Namespace, type RemoteReport, startWork } from 'varve'
import type { Compilation, Compiler, Module } from 'webpack'
import { infoOf, NOT_STORED, reportBuild, reportOf } from '../build/report.ts'
import type { ReportOption } from '../build/options.ts'
import type { Root } from '../build/root.ts'
import { causeOf, partsOf } from './why.ts'

const NAME = 'VarveWebpackPlugin'

/** Is before the identifiers of modules in webpack's cache, and after the path of their compiler if that is a child. */
const MODULES = 'Compilation/modules|'

/** The field of a module's build info with the milliseconds that building it cost. */
const COST = 'varveBuildMs'

/** The modules of one compiler. */
export class BuildReport {
  /** The counts of the first build, once it is over. */
  counts: BuildCounts | undefined
  /** Returns what has come from the remote of the cache. */
  remote: () => RemoteReport | undefined = () => undefined
  readonly #report: ReportOption
  readonly #info: (text: string) => void
  /** Modules without an entry. */
  readonly #missed: Set<string> = new Set()
  /** Why restored modules were built again, other than for a file. */
  readonly #causes: WeakMap<Module, string> = new WeakMap()

  /** @param changed names what has changed for all modules */
  constructor(compiler: Compiler, report: ReportOption | undefined, changed: () => readonly string[]) {
    this.#report = reportOf(report)
    this.#info = infoOf(NAME, compiler)
    compiler.hooks.compilation.tap(NAME, (compilation) => {
      measure(compilation)
      compilation.hooks.buildModule.tap(NAME, (module) => this.#rebuilding(module, compilation))
    })
    compiler.hooks.done.tap(NAME, ({ compilation }) => this.#end(compilation, changed()))
  }

  /** Called for each lookup without a result. */
  missed(identifier: string): void {
    if (this.counts === undefined && identifier.includes(MODULES)) this.#missed.add(identifier)
  }

  /** Before the module is built, it has what it was built with. */
  #rebuilding(module: Module, compilation: Compilation): void {
    const cause = this.counts === undefined ? causeOf(module, compilation) : undefined
    if (cause !== undefined) this.#causes.set(module, cause)
  }

  #end(compilation: Compilation, changed: readonly string[]): void {
    if (this.counts !== undefined) return
    const reasons: Record<string, number> = {}
    let [hits, misses, savedMs] = [0, 0, 0]
    for (const [module, isBuilt, compiler] of modulesOf(compilation)) {
      if (!isBuilt) {
        hits += 1
        savedMs += costOf(module)
        continue
      }
      misses += 1
      const reason = this.#reasonOf(module, compiler, changed)
      reasons[reason] = (reasons[reason] ?? 0) + 1
    }
    this.#missed.clear()
    this.counts = { hits, misses, reasons, savedMs }
    if (this.#report === false) return
    // Restoring modules costs time, too, which webpack spends in its own code.
    const build = { tool: 'webpack', counts: this.counts, isSaved: false, remote: this.remote() }
    reportBuild(this.#report, build, this.#info)
  }

  #reasonOf(module: Module, { compilerPath }: Compiler, changed: readonly string[]): string {
    const [first, ...others] = changed
    if (first !== undefined)
      return `changed ${first.replace(/ changed$/, '')}${others.length > 0 ? ` and ${others.length} more` : ''}`
    if (module.buildInfo?.cacheable === false) return 'not cacheable'
    if (this.#missed.has(`${compilerPath}${MODULES}${module.identifier()}`)) return 'new'
    const cause = this.#causes.get(module)
    return cause === undefined ? 'file' : `changed ${cause.replace(/ changed$/, '')}`
  }
}

/** Measures what building the modules of a compilation costs. */
function measure({ hooks }: Compilation): void {
  const running = new Map<Module, () => number>()
  const end = (module: Module): number => {
    const costMs = running.get(module)?.() ?? 0
    running.delete(module)
    return costMs
  }
  hooks.buildModule.tap(NAME, (module) => void running.set(module, startWork()))
  hooks.failedModule.tap(NAME, (module) => void end(module))
  hooks.succeedModule.tap(NAME, (module) => {
    const costMs = end(module)
    if (module.buildInfo !== undefined) Reflect.set(module.buildInfo, COST, costMs)
  })
}

/** All modules of a compilation and its children, whether it built them, and its compiler. Runtime modules are generated, never built. */
function* modulesOf({
  modules,
  builtModules,
  children,
  compiler,
}: Compilation): Generator<[module: Module, isBuilt: boolean, compiler: Compiler]> {
  for (const module of partsOf(modules))
    if (module.type !== 'runtime') yield [module, builtModules.has(module), compiler]
  for (const child of children) yield* modulesOf(child)
}

/** What building a module cost in milliseconds; 0 if that is unknown. */
export function costOf({ buildInfo }: Pick<Module, 'buildInfo'>): number {
  const costMs: unknown = buildInfo === undefined ? undefined : Reflect.get(buildInfo, COST)
  return typeof costMs === 'number' && Number.isFinite(costMs) && costMs > 0 ? costMs : 0
}

/** Gives the counts of a compiler's build to the cache before its first commit, so that a watching build that is killed has a record. */
export class Counting {
  /** Returns the counts of the first build, once it is over. */
  counts: () => BuildCounts | undefined = () => undefined
  /** Why nothing of the build is stored, in words; undefined if something is. */
  unstored: string | undefined
  #isDone = false
  #cache: Cache | undefined

  /** What has come from the remote of the cache up to now; undefined before the cache is open, and without a remote. */
  get remote(): RemoteReport | undefined {
    return this.#cache?.closed === false ? this.#cache.status().remote : undefined
  }

  /** Returns the call that commits a cache with its counts. */
  over(cache: Cache): () => Promise<CommitReport> {
    this.#cache = cache
    return () => {
      this.#add(cache)
      return cache.commit()
    }
  }

  async close(cache: Cache): Promise<void> {
    this.#add(cache)
    this.#isDone = false
    await cache.close()
  }

  #add(cache: Cache): void {
    const counts = this.#isDone ? undefined : this.counts()
    const { unstored } = this
    if (counts !== undefined)
      cache.recordBuild(
        unstored === undefined || counts.hits > 0
          ? counts
          : { ...counts, reasons: { [`${NOT_STORED}${unstored}`]: counts.misses } },
      )
    this.#isDone ||= counts !== undefined
  }
}

/** What the name of the namespace begins with; `describe.ts` knows it. */
const PARTS_PREFIX = 'parts:'

/** The parts of the packs of one compiler. */
export class Parts {
  readonly #namespace: Namespace<unknown>
  readonly #root: Root

  /** `packs` is the namespace of the packs. */
  constructor(cache: Cache, packs: string, version: string, root: Root) {
    this.#namespace = cache.namespace(`${PARTS_PREFIX}${packs}`, { version, codec: 'json' })
    this.#root = root
  }

  /** Puts the parts of a pack of modules. */
  put(key: string, items: readonly { readonly identifier: string; readonly data: unknown }[]): void {
    if (items[0]?.identifier.includes(MODULES) !== true) return
    this.#namespace.put(
      key,
      items.map(({ identifier, data }) => [this.#root.toRelative(pathOf(identifier)), ...weightOf(data)]),
    )
  }

  delete(key: string): void {
    this.#namespace.delete(key)
  }
}

/** The path in the identifier of a module: what is after its kind, its type and its loaders. */
function pathOf(identifier: string): string {
  return identifier.slice(Math.max(identifier.lastIndexOf('!'), identifier.lastIndexOf('|')) + 1)
}

function weightOf(module: unknown): [bytes: number, workMs: number] {
  return isModule(module) ? [sizeOf(module), Math.round(costOf(module) * 10) / 10] : [0, 0]
}

/** The bytes of the source; 0 without one. A restored module has no generator, so webpack's own `size` throws. */
function sizeOf(module: Module): number {
  try {
    return module.originalSource()?.size() ?? 0
  } catch {
    return 0 // modules of other plugins decide what this does
  }
}

function isModule(value: unknown): value is Module {
  if (typeof value !== 'object' || value === null || !('buildInfo' in value && 'originalSource' in value)) return false
  return typeof value.originalSource === 'function'
}

/**
 * Counts the modules of a compiler's first build: from the cache, or built and why. Each built module gets what building it
 * cost (loaders and parsing) in its build info, which webpack stores with the module. That is the time that a hit saves;
 * resolving, code generation and minimizing are not in it.
 *
 * Later builds of a watching compiler are answered by webpack's memory cache, so they are not counted.
 */
import { startWork } from 'varve'
import type { BuildCounts, RemoteReport } from 'varve'
import type { Compilation, Compiler, Module } from 'webpack'
import { reportBuild, reportOf, type ReportOption } from '../build/report.ts'
import { causeOf } from './changes.ts'
import { partsOf } from './why.ts'

const NAME = 'VarveWebpackPlugin'

/** Begins the identifiers of modules in webpack's cache. */
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
    const logger = compiler.getInfrastructureLogger(NAME)
    this.#info = (text) => logger.info(text)
    compiler.hooks.compilation.tap(NAME, (compilation) => {
      measure(compilation)
      compilation.hooks.buildModule.tap(NAME, (module) => this.#rebuilding(module, compilation))
    })
    compiler.hooks.done.tap(NAME, ({ compilation }) => this.#end(compilation, changed()))
  }

  /** Called for each lookup without a result. */
  missed(identifier: string): void {
    if (this.counts === undefined && identifier.startsWith(MODULES)) this.#missed.add(identifier)
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
    for (const [module, isBuilt] of modulesOf(compilation)) {
      if (!isBuilt) {
        hits += 1
        savedMs += costOf(module)
        continue
      }
      misses += 1
      const reason = this.#reasonOf(module, changed)
      reasons[reason] = (reasons[reason] ?? 0) + 1
    }
    this.#missed.clear()
    this.counts = { hits, misses, reasons, savedMs }
    if (this.#report === false) return
    reportBuild(this.#report, { tool: 'webpack', counts: this.counts, remote: this.remote() }, this.#info)
  }

  #reasonOf(module: Module, changed: readonly string[]): string {
    const [first, ...others] = changed
    if (first !== undefined)
      return `changed ${first.replace(/ changed$/, '')}${others.length > 0 ? ` and ${others.length} more` : ''}`
    if (module.buildInfo?.cacheable === false) return 'not cacheable'
    if (this.#missed.has(`${MODULES}${module.identifier()}`)) return 'new'
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

/** All modules of a compilation and its children, and whether it built them. Runtime modules are generated, never built. */
function* modulesOf({ modules, builtModules, children }: Compilation): Generator<[module: Module, isBuilt: boolean]> {
  for (const module of partsOf(modules)) if (module.type !== 'runtime') yield [module, builtModules.has(module)]
  for (const child of children) yield* modulesOf(child)
}

/** What building a module cost in milliseconds; 0 if that is unknown. */
export function costOf({ buildInfo }: Pick<Module, 'buildInfo'>): number {
  const costMs: unknown = buildInfo === undefined ? undefined : Reflect.get(buildInfo, COST)
  return typeof costMs === 'number' && Number.isFinite(costMs) && costMs > 0 ? costMs : 0
}

/** What one plugin reads: its scope, the local modules it is made of, and the warning if its reads cannot be seen. */
import { installReads, type ReadCall, ReadScope } from 'varve/reads'
import { localModules } from './modules.ts'
import type { CachedOptions, CachedStats } from './options.ts'
import type { Warn } from './warnings.ts'

// When a wrapper is loaded, before the plugins of a config are made: what they read from then on is seen.
installReads()

/** The reads of one plugin. */
export class PluginReads {
  readonly #options: CachedOptions
  #scope: ReadScope | undefined
  /** Where the scope's warning goes once a build has begun. */
  #warn: Warn | undefined
  #warning: string | undefined
  #isNoted = false

  constructor(options: CachedOptions) {
    this.#options = options
  }

  /** Whether reads are recorded. */
  get isOn(): boolean {
    return this.#options.trackReads !== false
  }

  /** A build begins, of a plugin that is made of these local modules. Undefined if nothing is recorded. */
  begin({ name, modules }: { readonly name: string; readonly modules: readonly string[] }, root: string, warn: Warn): ReadScope | undefined {
    const scope = this.#open(name, root)
    if (this.#warning !== undefined) warn(this.#warning)
    this.#warning = undefined
    this.#warn = warn
    scope?.begin()
    // What a module was when it was loaded decides, whatever is in its file by the next build.
    if (!this.#isNoted) this.noteModules(modules)
    this.#isNoted = true
    return scope
  }

  /** No build follows for now. */
  end(): void {
    this.#scope?.end()
  }

  /** Runs work of the plugin whose result is not kept: what it reads decides later calls. */
  run<T>(work: () => T): T {
    return this.#scope === undefined ? work() : this.#scope.run(work)
  }

  /** The same, perhaps before the first build begins. */
  runEarly<T>(name: string, root: string, work: () => T): T {
    this.#open(name, root)
    return this.run(work)
  }

  /** A call that runs by itself, in parts. */
  call(about: string): ReadCall | undefined {
    return this.#scope?.call(about)
  }

  /** Notes local modules that the plugin loads. */
  noteModules(files: readonly string[]): void {
    const scope = this.#scope
    if (scope === undefined) return
    const { paths, variables } = localModules(files)
    for (const path of paths) scope.read('module', path)
    for (const name of variables) scope.variable(name, false)
  }

  /** What was read so far. */
  recorded(): CachedStats['reads'] {
    return this.#scope?.recorded() ?? { files: [], variables: [] }
  }

  #open(name: string, root: string): ReadScope | undefined {
    const { trackReads, files, root: folder = root } = this.#options
    if (trackReads === false) return undefined
    const onOpaque = (message: string): void => {
      if (this.#warn === undefined) this.#warning = message
      else this.#warn(message)
    }
    this.#scope ??= new ReadScope({ name, root: folder, isDeclared: files !== undefined, onOpaque })
    return this.#scope
  }
}

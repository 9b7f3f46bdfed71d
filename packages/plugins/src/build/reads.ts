/** The reads of one plugin: their scope, the plugin's local modules, and the warning if reads cannot be recorded. */
import { installReads, type ReadCall, ReadScope } from 'varve/reads'
import { localModules } from './modules.ts'
import type { CachedOptions, CachedStats } from './options.ts'
import type { Warn } from './warnings.ts'

// Runs when a wrapper is loaded, before a config creates its plugins, so that all their reads are recorded.
installReads()

/** The reads of one plugin. */
export class PluginReads {
  readonly #options: CachedOptions
  #scope: ReadScope | undefined
  /** Receives the warning of the scope once a build has begun. */
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

  /** Called when a build of a plugin with these local modules begins. Undefined if reads are not recorded. */
  begin({ name, modules }: { readonly name: string; readonly modules: readonly string[] }, root: string, warn: Warn): ReadScope | undefined {
    const scope = this.#open(name, root)
    if (this.#warning !== undefined) warn(this.#warning)
    this.#warning = undefined
    this.#warn = warn
    scope?.begin()
    // A module counts as it was when it was loaded, even if its file changes before the next build.
    if (!this.#isNoted) this.noteModules(modules)
    this.#isNoted = true
    return scope
  }

  /** Called when no build follows. */
  end(): void {
    this.#scope?.end()
  }

  /** Runs work of the plugin whose result is not cached. Later calls depend on what it reads. */
  run<T>(work: () => T): T {
    return this.#scope === undefined ? work() : this.#scope.run(work)
  }

  /** As `run`, but may be called before the first build begins. */
  runEarly<T>(name: string, root: string, work: () => T): T {
    this.#open(name, root)
    return this.run(work)
  }

  /** The reads of a call that runs in several parts. */
  call(about: string): ReadCall | undefined {
    return this.#scope?.call(about)
  }

  /** Records local modules that the plugin loads. */
  noteModules(files: readonly string[]): void {
    const scope = this.#scope
    if (scope === undefined) return
    const { paths, variables } = localModules(files)
    for (const path of paths) scope.read('module', path)
    for (const name of variables) scope.variable(name, false)
  }

  /** The files and variables that were read so far. */
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

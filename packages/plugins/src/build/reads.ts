/** The reads of one plugin: their scope, the plugin's local modules, and the warning if reads cannot be recorded. */
import { type ReadCall, ReadScope } from 'varve/reads'
import { localModules } from './modules.ts'
import type { CachedOptions, CachedStats } from './options.ts'
import type { Warn } from './session.ts'

/** The code whose reads are recorded. */
interface Reader {
  readonly name: string
  /** Local modules of the plugin. */
  readonly modules: readonly string[]
  readonly isServer?: boolean | undefined
}

/**
 * The scopes of plugins in servers, by name and root. All instances of a plugin in one process share a scope: a module of the plugin
 * may have in memory what another instance read.
 */
const servers: Map<string, ReadScope> = new Map()

/** Why scopes were stopped. */
const stops: WeakMap<ReadScope, string> = new WeakMap()

export class PluginReads {
  readonly #options: CachedOptions
  readonly #count: (reason: string) => void
  #scope: ReadScope | undefined
  /** Receives the warning of the scope once a build has begun. */
  #warn: Warn | undefined
  #warning: string | undefined
  #isNoted = false

  /** `count`: called for each result that is not stored. */
  constructor(options: CachedOptions, count: (reason: string) => void) {
    this.#options = options
    this.#count = count
  }

  /** Whether reads are recorded. */
  get isOn(): boolean {
    return this.#options.trackReads !== false
  }

  /** Called when a build of a plugin with these local modules begins. Undefined if reads are not recorded. */
  begin({ name, modules, isServer = false }: Reader, root: string, warn: Warn): ReadScope | undefined {
    const scope = isServer ? this.#share(name, root) : this.#open(name, root)
    if (this.#warning !== undefined) warn(this.#warning)
    this.#warning = undefined
    this.#warn = warn
    scope?.begin()
    // A module counts as it was when it was loaded, even if its file changes before the next build.
    if (!this.#isNoted) this.noteModules(modules)
    this.#isNoted = true
    return scope
  }

  /** Looks again at everything that was read, and returns whether it is unchanged. */
  look(): boolean {
    this.#scope?.begin()
    return this.#scope?.isCurrent !== false
  }

  /** Stores nothing from now on, because of this change. */
  stop(changed: string): void {
    const scope = this.#scope
    if (scope === undefined) return
    if (!stops.has(scope)) stops.set(scope, changed)
    scope.stop()
  }

  /** The change that stopped the scope, maybe in an earlier server of this process. */
  get stopped(): string | undefined {
    return this.#scope === undefined ? undefined : stops.get(this.#scope)
  }

  /** Why reads cannot be recorded, which a warning has reported; undefined if they are. */
  get unrecorded(): string | undefined {
    const scope = this.#scope
    return scope === undefined || stops.has(scope) ? undefined : scope.reason
  }

  /** Called when no build follows. */
  end(): void {
    this.#scope?.end()
  }

  /** Runs work of the plugin whose result is not cached. Later calls depend on what it reads. */
  run<T>(work: () => T): T {
    return this.#scope === undefined ? work() : this.#scope.run(work)
  }

  /** As `run`, but may be called before the first build begins. Reads of the file that the work is about, absolute, do not count. */
  runEarly<T>(name: string, root: string, work: () => T, about?: string): T {
    const scope = this.#open(name, root)
    return scope === undefined ? work() : scope.run(work, about)
  }

  /** The reads of a call that runs in several parts. */
  call(about: string): ReadCall | undefined {
    return this.#scope?.call({ path: about })
  }

  /** Records local modules that the plugin loads, and the packages that they import unless the caller names those that count. */
  noteModules(files: readonly string[]): void {
    const scope = this.#scope
    if (scope === undefined) return
    const { paths, manifests, missing, variables } = localModules(files)
    for (const path of paths) scope.read('module', path)
    if (this.#options.packages === undefined) for (const path of [...manifests, ...missing]) scope.read('content', path)
    for (const name of variables) scope.variable(name, false)
  }

  /** The files and variables that were read so far. */
  recorded(): CachedStats['reads'] {
    return this.#scope?.recorded() ?? { files: [], variables: [] }
  }

  /** The scope that this plugin has in all servers of this process. */
  #share(name: string, root: string): ReadScope | undefined {
    const own = this.#open(name, root)
    if (own === undefined) return undefined
    const key = JSON.stringify([name, root, this.#options.files !== undefined, this.#options.trust])
    const shared = servers.get(key) ?? own
    servers.set(key, shared)
    if (shared !== own) shared.takeOver(own)
    this.#scope = shared
    return shared
  }

  #open(name: string, root: string): ReadScope | undefined {
    if (this.#scope !== undefined) return this.#scope
    const { trackReads, files, trust, root: folder = root } = this.#options
    if (trackReads === false) return undefined
    const onOpaque = (message: string): void => {
      if (this.#warn === undefined) this.#warning = message
      else this.#warn(message)
    }
    return (this.#scope = new ReadScope({
      name,
      root: folder,
      isDeclared: files !== undefined,
      trust,
      onOpaque,
      onNotStored: this.#count,
    }))
  }
}

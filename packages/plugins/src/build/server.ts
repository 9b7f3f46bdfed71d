/**
 * A development server runs for hours. What its plugins read once, they may have in memory or read again, and the cache cannot see
 * which. So it serves and stores results only while the inputs that all of them share are as this process first found them:
 * config files, installed packages, local modules of the plugin, and everything that its reads recorded.
 */
import { observe } from 'varve/internal'
import type { Identity } from './identity.ts'
import type { CachedOptions } from './options.ts'
import type { PluginReads } from './reads.ts'
import type { Root } from './root.ts'

/** Time in milliseconds for which one look at the inputs counts. A file watcher takes longer to report a change. */
const LOOK_MS = 100

/** When a server of this process last called a plugin or got a request. All plugins share it, because a page calls several in turns. */
let lastMs = Number.NEGATIVE_INFINITY

/** Called with each request that a server gets. It answers most requests of a page without a call: it transforms imports ahead of them. */
export function noteRequest(): void {
  lastMs = performance.now()
}

/** Files as this process first found them, by path. */
const observed: Map<string, () => boolean> = new Map()

/** The inputs that all results of one plugin share. */
export class ServerInputs {
  readonly #plugin: string
  readonly #paths: readonly string[]
  readonly #reads: PluginReads
  #lookedMs = -LOOK_MS
  #changed: string | undefined
  #isReported = false

  constructor(plugin: string, paths: readonly string[], reads: PluginReads) {
    this.#plugin = plugin
    this.#paths = paths
    this.#reads = reads
    for (const path of paths) if (!observed.has(path)) observed.set(path, observe(path))
  }

  /** Whether they are unchanged, at most 100 ms ago. */
  get areSame(): boolean {
    return performance.now() - this.#lookedMs < LOOK_MS ? this.#changed === undefined : this.look()
  }

  /** Whether nothing has changed: reads could not be recorded, which was a warning. */
  get isReported(): boolean {
    return this.#isReported
  }

  /** The first that changed. */
  get changed(): string | undefined {
    return this.#changed
  }

  /** Looks at all of them. After a change the result is always false. */
  look(): boolean {
    this.#lookedMs = performance.now()
    this.#changed ??= this.#paths.find((path) => observed.get(path)?.() !== true)
    if (this.#changed === undefined && !this.#reads.look()) {
      const { stopped, unrecorded } = this.#reads
      this.#isReported = unrecorded !== undefined
      this.#changed = stopped ?? unrecorded ?? `something that plugin '${this.#plugin}' has read`
    }
    if (this.#changed !== undefined) this.#reads.stop(this.#changed)
    return this.#changed === undefined
  }
}

/** Changes that were reported, by root: a restart of the server in this process changes nothing about them. */
const reported: Set<string> = new Set()

/** Whether a change of shared inputs is new to the user of this process. */
export function isNews(root: Root, changed: string): boolean {
  const key = JSON.stringify([root.folder, changed])
  const isNew = !reported.has(key)
  reported.add(key)
  return isNew
}

/** The inputs that builds have in memory, as this process first found them, by root and options. A changed one remains changed. */
const held: Map<string, readonly [name: string, digest: string][]> = new Map()
const HELD = ['packages', 'config files']

/**
 * The name of an input that has changed since the first build of this process: a later one, in watch mode, may have the old code of a
 * package or the old contents of a config file in memory, and the cache cannot see that.
 */
export function changedInput(root: Root, { packages, files }: CachedOptions, identity: Identity): string | undefined {
  const key = JSON.stringify([root.folder, packages, files])
  const now = HELD.map((name): [string, string] => [name, identity[name] ?? ''])
  const before = held.get(key) ?? now
  const changed = before.find(([, digest], index) => digest !== now[index]?.[1])
  held.set(
    key,
    changed === undefined ? before : before.map(([name, digest]) => [name, name === changed[0] ? 'changed' : digest]),
  )
  return changed?.[0]
}

/** Runs work each time a server had nothing to do for a while. */
export class Idle {
  readonly #afterMs: number
  readonly #work: (isStillIdle: () => boolean) => void
  #timer: NodeJS.Timeout | undefined

  /** `afterMs`: time in milliseconds without a call and without a request. */
  constructor(afterMs: number, work: (isStillIdle: () => boolean) => void) {
    this.#afterMs = afterMs
    this.#work = work
  }

  /** Called with each call of a plugin. */
  touch(): void {
    noteRequest()
    this.#timer ??= setTimeout(() => this.#look(), this.#afterMs).unref()
  }

  /** Called when the server has ended. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const restMs = lastMs + this.#afterMs - performance.now()
    this.#timer = restMs > 0 ? setTimeout(() => this.#look(), restMs).unref() : undefined
    if (this.#timer !== undefined) return
    const idleSince = lastMs
    this.#work(() => lastMs === idleSince)
  }
}

/**
 * The open cache of a build. There is one per directory and process; the plugins that use it share it, and the last one closes
 * it. A failure here never fails a build: it costs misses and a warning.
 */
import { type Cache, openCache, type Task, type TaskOptions, type VarveError } from 'varve'
import { isCpuTime } from 'varve/internal'
import { Explanations } from './digest.ts'
import { type CachedOptions, cacheFolder, type ReportOption } from './options.ts'
import { isWithoutLookup, Progress, reportBuild } from './report.ts'
import type { Root } from './root.ts'

/** Version of the layout of entries. */
const LAYOUT = '2'

/** Sessions in use. */
const sessions: Map<string, Session> = new Map()

/** A cache that one or more builds have open. */
export class Session {
  readonly #id: string
  readonly #opening: Promise<Cache | undefined>
  readonly #isReadOnly: boolean
  /** Warnings, which go to the plugin that opened the cache. */
  readonly warnings: Warnings
  /** The modules of the current build. */
  readonly progress: Progress = new Progress()
  /** Words for what has changed; undefined if the cache could not be opened. */
  explanations: Explanations | undefined
  /** Called before each commit. */
  readonly beforeCommit: Set<() => void> = new Set()
  readonly #tool: string
  #users = 0
  /** Plugins that have begun the current build and not ended it. */
  #building = 0
  #report: ReportOption = false
  #info: Warn = () => undefined
  /** Whether the build is the life of a server, which may end without a request. */
  #isServer = false
  #cache: Cache | undefined

  private constructor(id: string, tool: string, options: CachedOptions, root: Root, warn: Warn) {
    this.#id = id
    this.#tool = tool
    this.#isReadOnly = options.readOnly ?? false
    this.warnings = new Warnings(warn)
    this.#opening = this.#open(tool, options, root)
  }

  /** Opens the cache of `tool`, or shares it if it is open with these options. Each call needs one call of `release`. */
  static async acquire(tool: string, options: CachedOptions, root: Root, warn: Warn): Promise<Session> {
    const { dir = '', engine, maxBytes, readOnly } = options
    const id = JSON.stringify([tool, root.folder, dir, engine, maxBytes, readOnly])
    const session = sessions.get(id) ?? new Session(id, tool, options, root, warn)
    sessions.set(id, session)
    session.#users += 1
    await session.#opening
    return session
  }

  /** The task of that name; undefined if the cache could not be opened. */
  task(name: string, options: Omit<TaskOptions, 'codec' | 'version'>): Task<Uint8Array> | undefined {
    return this.#cache?.task(name, { ...options, version: LAYOUT, codec: 'bytes' })
  }

  /** Called when a build of one plugin begins. The line is printed once, by `info` of a plugin that requests it. */
  beginBuild(report: ReportOption, info: Warn, isServer: boolean = false): void {
    if (this.#building === 0) this.explanations?.begin()
    this.#building += 1
    this.#isServer = isServer
    if (report === false || this.#report === 'summary') return
    this.#report = report
    this.#info = info
  }

  /** Called when a build of one plugin is over. After the last one, the build is counted and reported. */
  endBuild(): void {
    if (this.#building === 0) return
    this.#building -= 1
    if (this.#building > 0) return
    const counts = this.progress.take()
    this.#cache?.recordBuild(counts)
    if (this.#isServer && isWithoutLookup(counts)) this.#report = false
    const remote = this.#report === false || this.#cache?.closed !== false ? undefined : this.#cache.status().remote
    reportBuild(this.#report, { tool: this.#tool, counts, isSaved: isCpuTime(), remote }, this.#info)
    this.#report = false
  }

  /** Commits new results. */
  async commit(): Promise<void> {
    if (this.#isReadOnly) return
    for (const prepare of this.beforeCommit) prepare()
    this.explanations?.put()
    await this.#cache?.commit().catch((error: unknown) => this.warnings.failed('cannot be written', error))
  }

  /** Commits new results, and closes the cache if this was its last user. */
  async release(): Promise<void> {
    this.#users -= 1
    await this.commit()
    if (this.#users > 0) return
    if (sessions.get(this.#id) === this) sessions.delete(this.#id)
    await this.#cache?.close().catch((error: unknown) => this.warnings.failed('cannot be closed', error))
  }

  async #open(
    tool: string,
    { dir, engine, maxBytes, readOnly }: CachedOptions,
    root: Root,
  ): Promise<Cache | undefined> {
    try {
      this.#cache = await openCache({
        name: tool,
        dir: cacheFolder(dir, root.folder, tool),
        engine,
        maxBytes,
        readOnly,
        onWarning: this.warnings.report,
      })
      this.explanations = new Explanations(this.#cache)
    } catch (error) {
      this.warnings.failed('cannot be opened, so the build continues without it', error)
    }
    return this.#cache
  }
}

/** Reports a warning through the tool's own logger. */
export type Warn = (text: string) => void

/** Reports each kind of warning once. */
export class Warnings {
  readonly #warn: Warn
  readonly #reported: Set<string> = new Set()

  constructor(warn: Warn) {
    this.#warn = warn
  }

  /** Reports a failure. `problem` continues the words 'the cache'. */
  failed(problem: string, error: unknown): void {
    this.once(problem, `the cache ${problem}: ${error instanceof Error ? error.message : String(error)}`)
  }

  /** Reports a warning of the engine: an `onWarning` of `openCache`. */
  readonly report = ({ code, message }: VarveError): void => this.once(code, message)

  /** Reports a warning of this kind once. */
  once(kind: string, text: string): void {
    if (this.#reported.has(kind)) return
    this.#reported.add(kind)
    this.#warn(text)
  }
}

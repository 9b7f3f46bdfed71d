/**
 * The calls of one plugin or loader. Each call is answered from the cache, or it runs and its result is stored. The directory of
 * each tool defines what a call is and how it is replayed.
 *
 *   begin -> run ... -> end -> begin -> ... -> close
 */
import { relative } from 'node:path'
import { startWork, type Task, type TaskContext, VarveError } from 'varve'
import { type Call, type Caller, type CallFacts, explainer, noteParts, reasonOf, sharedParts } from './call.ts'
import { type Identity, identityFiles, identityOf } from './identity.ts'
import type { CachedOptions } from './options.ts'
import { pack, unpack, Uncacheable } from './pack.ts'
import { isPlainPath, PLAIN_ROOT, projectRoot, type Root } from './root.ts'
import { NOT_STORED, Tally, reportOf } from './report.ts'
import { PluginReads } from './reads.ts'
import { localModules } from './modules.ts'
import { changedInput, Idle, isNews, ServerInputs } from './server.ts'
import { Session, type Warn } from './session.ts'

/** Limit of the results stored for one id: client and server, modes, branches. */
const VARIANTS = 8

/** Time in milliseconds without a call after which a server commits, and after which plugins catch up: browsers pause while they load a page. */
const COMMIT_IDLE_MS = 250
const WORK_IDLE_MS = 1000

/** The input that is the path of the project in its checkout. */
const PLACE = 'directory in the checkout'

interface Open extends CallFacts {
  readonly session: Session
  readonly inputs: Identity
  readonly root: Root
  readonly taskOf: (kind: string) => Task<Uint8Array> | undefined
  readonly server: ServerInputs | undefined
  /** Called after the last commit. */
  readonly leave: () => void
}

export class Calls {
  readonly #options: CachedOptions
  readonly #reads: PluginReads
  #open: Open | undefined
  #begun: Promise<void> = Promise.resolve()
  #isBeginning = false
  #name = ''
  #builds = 0
  #isOutdated = false
  #isRefused = false
  /** A build of a plugin of which nothing is cached. */
  #refused: { readonly session: Session; readonly reason: string } | undefined
  readonly #idle: readonly Idle[]
  readonly #tally: Tally = new Tally()

  /** `onIdle`: called when a server has no calls for a while, with a check whether this is still so. */
  constructor(options: CachedOptions, onIdle?: (isStillIdle: () => boolean) => void) {
    this.#options = options
    this.#idle = [
      new Idle(COMMIT_IDLE_MS, () => void this.commit()),
      ...(onIdle === undefined ? [] : [new Idle(WORK_IDLE_MS, onIdle)]),
    ]
    this.#reads = new PluginReads(options, (reason) => this.count(reason))
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** Resolves when a build that begins has opened the cache; undefined if none is opening one. */
  get beginning(): Promise<void> | undefined {
    return this.#isBeginning ? this.#begun : undefined
  }

  /** Whether nothing of this plugin is stored, whatever its inputs are. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /** The project directory while the cache is open. */
  get root(): Root | undefined {
    return this.#open?.root
  }

  /** The inputs that all calls share; undefined if results are not cached, or not any more because one of them changed. */
  get inputs(): Identity | undefined {
    return this.#open?.server?.areSame === false ? undefined : this.#open?.inputs
  }

  /** Called when a build begins; builds of one plugin may overlap. Without a caller, nothing is cached. */
  begin(caller: Caller | undefined, warn: Warn): Promise<void> {
    this.#builds += 1
    this.#name = caller?.name ?? this.#name
    if (caller !== undefined && (this.#builds === 1 || caller.isServer === true))
      this.#begun = this.#begin(caller, warn)
    return this.#begun
  }

  /**
   * Called when a build is over. Commits new results, and closes the cache unless another build will follow. `isPaused`: the bundler reads
   * nothing until then, so that what the program reads may be the configuration of another build.
   */
  async end(isWatching: boolean, isPaused: boolean = !isWatching): Promise<void> {
    if (this.#builds === 0) return
    this.#builds -= 1
    if (this.#builds > 0) return
    const stats = this.#tally.takeStats()
    this.#options.onStats?.({ name: this.#name, ...stats, reads: this.#reads.recorded() })
    this.#open?.session.progress.uncached(stats.uncacheable)
    this.#open?.session.progress.saved(this.#tally.takeSavedMs())
    this.#open?.session.endBuild()
    await this.#endRefused()
    await (isWatching ? this.commit() : this.close())
    if (isPaused) this.#reads.end()
  }

  get reads(): PluginReads {
    return this.#reads
  }

  /** Commits new results. */
  async commit(): Promise<void> {
    await this.#open?.session.commit()
  }

  /** Commits new results and closes the cache. */
  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    for (const idle of this.#idle) idle.stop()
    await open?.session.release()
    open?.leave()
  }

  /** The result of a call, from the cache or by running it. Rejects only with errors of the call itself. */
  async run<R, E extends object>(call: Call<R, E>): Promise<R> {
    const open = this.#open
    const task = open?.taskOf(call.kind)
    if (open === undefined || task === undefined || !this.#isServed(open)) return call.work()
    let live: { readonly result: R } | undefined
    let entry: E | undefined
    const answering = new Answering()
    const accept = (found: unknown): boolean => {
      entry = this.#read(call, open, found)
      return entry !== undefined
    }
    const work = async (context: TaskContext): Promise<Uint8Array> => {
      answering.end()
      const result = await call.work()
      live = { result }
      return this.#keep(call, result, open, context)
    }
    const explain = explainer(call, open)
    const request = {
      id: open.root.toRelative(call.id),
      inputs: call.inputs,
      files: call.files,
      accept,
      about: call.about,
      isGiven: call.isGiven,
      explain,
    }
    const bytes = await this.#ask(() => task.run(request, work))
    if (live !== undefined) return live.result
    // A result that another run made at the same time did not go through `accept`, so it is read here.
    entry ??= bytes === undefined ? undefined : this.#read(call, open, bytes)
    const replayed = entry === undefined ? undefined : replay(this.#name, call, entry, open)
    const answerMs = answering.end()
    if (replayed === undefined) return this.#reads.run(() => call.work())
    this.#tally.hit(answerMs)
    open.session.progress.note(call.about ?? call.id)
    return replayed.result
  }

  /** Whether results may be used and stored. They always may in a build. */
  #isServed({ root, server, session }: Open): boolean {
    if (server === undefined) return true
    for (const idle of this.#idle) idle.touch()
    if (server.areSame) return true
    const changed = server.changed ?? 'an input'
    if (server.isReported) {
      this.count(changed)
      return false
    }
    if (isNews(root, changed))
      session.warnings.failed('is not used until the process is started again', new Error(`${changed} has changed`))
    this.count('its inputs have changed while the server runs')
    return false
  }

  /** The entry in these bytes; undefined if this call cannot replay it. */
  #read<R, E>(call: Call<R, E>, { root, session }: Open, found: unknown): E | undefined {
    try {
      const entry = found instanceof Uint8Array ? root.absoluteEntry(unpack(found)) : undefined
      if (call.shape(entry)) return call.accepts?.(entry) === false ? undefined : entry
      throw new Error('it does not have the shape of a result')
    } catch (error) {
      session.warnings.failed(`has a result that was not stored by plugin '${this.#name}', which runs instead`, error)
      return undefined
    }
  }

  /** The stored bytes; undefined if the cache failed. */
  async #ask(run: () => Promise<Uint8Array>): Promise<Uint8Array | undefined> {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof VarveError)) throw error
      // Of two caches around one plugin, the outer one stores what the inner one runs.
      if (error.code === 'TASK_CYCLE') return undefined
      this.#open?.session.warnings.failed(`failed for plugin '${this.#name}'`, error)
      return undefined
    }
  }

  /** Counts a call that cannot be cached, for this reason. */
  count(reason: string): void {
    if (this.#open !== undefined) this.#tally.uncacheable(reason)
  }

  async #begin(caller: Caller, warn: Warn): Promise<void> {
    this.#isBeginning = true
    try {
      await this.#openFor(caller, warn)
    } finally {
      this.#isBeginning = false
    }
  }

  /** Opens the cache. What the plugin may read while it opens is looked at before the first wait. */
  async #openFor(caller: Caller, warn: Warn): Promise<void> {
    const root = projectRoot(this.#options.root ?? caller.root)
    if (caller.refusal !== undefined) return this.#refuse(caller, caller.refusal, root, warn)
    const cacheKey = this.#options.cacheKey ?? caller.keyOf(root)
    if (cacheKey === undefined) {
      warn(
        `plugin '${caller.name}' is not cached: its options are not visible to the cache; pass them also as option 'cacheKey'`,
      )
      return
    }
    const identity = identityOf({ ...this.#options, cacheKey }, root)
    // A plugin may use the path of a module relative to the project.
    const place = relative(root.checkout, root.folder).replaceAll('\\', '/')
    const inputs = { ...identity, ...caller.inputs, ...(place !== '' && { [PLACE]: place }) }
    const changed = caller.isServer === true ? undefined : changedInput(root, this.#options, identity)
    if (changed !== undefined) return this.#endEarly(caller.name, changed, warn)
    // An entry that contains the root outside of known path fields is valid for that root only.
    const findInput = (name: string): unknown => ({ root: root.folder, [PLAIN_ROOT]: isPlainPath(root.folder) })[name]
    const scope = this.#reads.begin(caller, root.folder, warn)
    const files =
      caller.isServer === true
        ? [...identityFiles(this.#options, root), ...localModules(caller.modules).paths]
        : undefined
    const server = files === undefined ? undefined : new ServerInputs(caller.name, files, this.#reads)
    const session = this.#open?.session ?? (await Session.acquire(caller.tool, this.#options, root, warn))
    const look = (): void => void server?.look()
    session.beforeCommit.add(look)
    const tasks = new Map<string, Task<Uint8Array> | undefined>()
    const taskOf = (kind: string): Task<Uint8Array> | undefined => {
      const options = { root: root.folder, findInput, inputs, variants: VARIANTS, trackReads: scope }
      const task = tasks.get(kind) ?? session.task(`${caller.name} ${kind}`, options)
      tasks.set(kind, task)
      if (task !== undefined) this.#tally.noteTask(task)
      return task
    }
    // A server begins a build for each environment, and its logger may be silent when it ends, as that of Vitest.
    if (this.#open === undefined)
      session.beginBuild(
        reportOf(this.#options.report),
        server === undefined ? (text) => caller.info(text) : printLine,
        server !== undefined,
      )
    this.#open?.leave()
    const partsOf = sharedParts(caller, { ...this.#options, cacheKey }, root)
    this.#open = { session, inputs, root, taskOf, server, partsOf, leave: () => void session.beforeCommit.delete(look) }
  }

  async #refuse(caller: Caller, reason: string, root: Root, warn: Warn): Promise<void> {
    const { name, tool, isServer } = caller
    if (!this.#isRefused)
      warn(`plugin '${name}' is not cached: ${reason}. If it keeps nothing between its hooks, set 'stateless: true'`)
    this.#isRefused = true
    if (isServer === true || this.#refused !== undefined) return
    const session = await Session.acquire(tool, this.#options, root, warn)
    session.beginBuild(reportOf(this.#options.report), (text) => caller.info(text))
    this.#refused = { session, reason: `plugin '${name}': ${reason}` }
  }

  /** The build is counted although nothing of it is cached, so that `varve doctor` finds it. */
  async #endRefused(): Promise<void> {
    const refused = this.#refused
    this.#refused = undefined
    if (refused === undefined) return
    refused.session.progress.refused(refused.reason)
    refused.session.endBuild()
    await refused.session.release()
  }

  /** Nothing is cached from now on. */
  async #endEarly(name: string, changed: string, warn: Warn): Promise<void> {
    if (!this.#isOutdated)
      warn(`plugin '${name}' is not cached until the process is started again: its ${changed} have changed`)
    this.#isOutdated = true
    await this.close()
  }

  /** The bytes to store; empty if the call is not cached. */
  #keep<R, E>(call: Call<R, E>, result: R, open: Open, context: TaskContext): Uint8Array {
    const { root, session } = open
    try {
      const kept = call.keep(result)
      if (kept === undefined || this.#open?.server?.look() === false) return skip(context)
      if (!call.shape(kept.entry)) throw new Uncacheable('returns or reports something unknown')
      for (const path of kept.watched) context.addFile(path)
      if (kept.workMs !== undefined) context.addWorkMs(kept.workMs)
      const ended = call.reads?.finish([...kept.watched, ...call.files])
      if (ended?.written !== undefined) throw new Uncacheable('writes files')
      const [entry, isBound] = root.relativeEntry(kept.entry, kept.own)
      if (isBound || kept.isBound === true) context.addInput('root', root.folder)
      else if (kept.own?.isUsed === true) context.addInput(PLAIN_ROOT, true)
      const bytes = pack(entry)
      this.#tally.missed(context.reason)
      noteParts(call, open)
      const { unrecorded } = this.#reads
      const reason = unrecorded === undefined ? reasonOf(context) : NOT_STORED + unrecorded
      session.progress.note(call.about ?? call.id, reason)
      return bytes
    } catch (error) {
      if (!(error instanceof Uncacheable))
        session.warnings.failed(`cannot store a result of plugin '${this.#name}'`, error)
      this.count(error instanceof Uncacheable ? error.message : 'cannot be stored')
      return skip(context)
    }
  }
}

/** Measures what it costs to answer a call from the cache, until the call runs after all. */
class Answering {
  #end: (() => number) | undefined = startWork()

  /** Returns the milliseconds, the first time. */
  end(): number {
    const answerMs = this.#end?.() ?? 0
    this.#end = undefined
    return answerMs
  }
}

/** Standard output may be that of a reporter. */
function printLine(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Replays an entry; undefined if the tool rejects it, so that the call has to run. */
function replay<R, E>(name: string, call: Call<R, E>, entry: E, { session }: Open): { readonly result: R } | undefined {
  try {
    return { result: call.replay(entry) }
  } catch (error) {
    session.warnings.failed(`has a result that cannot be replayed, so plugin '${name}' runs`, error)
    return undefined
  }
}

/** Stores nothing for this call. */
function skip(context: TaskContext): Uint8Array {
  context.skipStore()
  return new Uint8Array()
}

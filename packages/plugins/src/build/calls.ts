/**
 * The calls of one plugin or loader. Each call is answered from the cache, or it runs and its result is stored. The directory of
 * each tool defines what a call is and how it is replayed.
 *
 *   begin -> run ... -> end -> begin -> ... -> close
 */
import { type Task, type TaskContext, type TaskStats, VarveError } from 'varve'
import { type ReadCall, unrecorded } from 'varve/reads'
import { type Identity, identityOf } from './identity.ts'
import type { CachedOptions, CachedStats } from './options.ts'
import { pack, unpack } from './pack.ts'
import { PluginReads } from './reads.ts'
import { Root } from './root.ts'
import { Session } from './session.ts'
import type { Shape } from './shape.ts'
import { Uncacheable } from './uncacheable.ts'
import type { Warn } from './warnings.ts'

/** Limit of the results stored for one id: client and server, modes, branches. */
const VARIANTS = 8

/** The plugin that makes the calls, as known when a build begins. */
export interface Caller {
  /** Name of the tool, and of the cache. */
  readonly tool: string
  /** Name of the plugin, for messages and for `varve why`. */
  readonly name: string
  /** The project directory. */
  readonly root: string
  /** Replaces the plugin's options if the user passed none; undefined if the tool has no replacement. */
  keyOf(root: Root): string | undefined
  /** Named inputs of all calls, in addition to those of the options. */
  readonly inputs: Identity
  /** Local files whose code, with everything they import, makes up the plugin. */
  readonly modules: readonly string[]
}

/** One call with the result `R`, stored as an entry `E`. */
export interface Call<R, E> {
  /** The kind of call. All calls of one kind belong to one task. */
  readonly kind: string
  /** The subject of the call, with absolute paths. Most calls differ in it. */
  readonly id: string
  readonly inputs: Readonly<Record<string, unknown>>
  /** Files that the result depends on, known before the call. */
  readonly files: readonly string[]
  /** Absolute path of the file that the call processes. Reading it makes it an input of this call only. */
  readonly about?: string | undefined
  /** Reads of the call before `work`. */
  readonly reads?: ReadCall | undefined
  /** Runs the call. */
  work(): Promise<R>
  /** What to store; undefined for nothing. Throws Uncacheable if the call cannot be replayed. */
  keep(result: R): Kept | undefined
  /** The shape of an entry that can be replayed. A result of another shape is not stored; a stored value of another shape is a miss. */
  readonly shape: Shape<E>
  /** Repeats the call's effects on the tool and returns its result. Steps that may throw come before steps with an effect. */
  replay(entry: E): R
}

/** What is stored of a call. */
export interface Kept {
  /** The entry, as plain data. */
  readonly entry: unknown
  /** Files and directories that the result depends on, found while the call ran. */
  readonly watched: readonly string[]
}

interface Open {
  readonly session: Session
  readonly root: Root
  readonly taskOf: (kind: string) => Task<Uint8Array> | undefined
}

/** The calls of one plugin. */
export class Calls {
  readonly #options: CachedOptions
  readonly #reads: PluginReads
  #open: Open | undefined
  #beginning: Promise<void> = Promise.resolve()
  #name = ''
  #builds = 0
  #hits = 0
  #misses = 0
  readonly #uncacheable: Map<string, number> = new Map()
  readonly #tasks: Map<Task<Uint8Array>, TaskStats> = new Map()

  constructor(options: CachedOptions) {
    this.#options = options
    this.#reads = new PluginReads(options)
  }

  /** Whether a cache is open. */
  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** The project directory while the cache is open. */
  get root(): Root | undefined {
    return this.#open?.root
  }

  /** Called when a build begins; builds of one plugin may overlap. Without a caller, nothing is cached. */
  begin(caller: Caller | undefined, warn: Warn): Promise<void> {
    this.#builds += 1
    this.#name = caller?.name ?? this.#name
    if (this.#builds === 1 && caller !== undefined) this.#beginning = unrecorded(() => this.#begin(caller, warn))
    return this.#beginning
  }

  /** Called when a build is over. Commits new results, and closes the cache unless another build will follow. */
  async end(isWatching: boolean): Promise<void> {
    if (this.#builds === 0) return
    this.#builds -= 1
    if (this.#builds > 0) return
    this.#options.onStats?.(this.#takeStats())
    if (isWatching) return this.commit()
    await this.close()
    this.#reads.end()
  }

  /** The reads of the plugin. */
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
    await open?.session.release()
  }

  /** The result of a call, from the cache or by running it. Rejects only with errors of the call itself. */
  async run<R, E extends object>(call: Call<R, E>): Promise<R> {
    const open = this.#open
    const task = open?.taskOf(call.kind)
    if (open === undefined || task === undefined) return call.work()
    let live: { readonly result: R } | undefined
    let entry: E | undefined
    const accept = (found: unknown): boolean => {
      entry = this.#read(call, open, found)
      return entry !== undefined
    }
    const work = async (context: TaskContext): Promise<Uint8Array> => {
      const result = await call.work()
      live = { result }
      return this.#keep(call, result, open.root, context)
    }
    const request = { id: open.root.toRelative(call.id), inputs: call.inputs, files: call.files, accept, about: call.about }
    const bytes = await this.#ask(() => task.run(request, work))
    if (live !== undefined) return live.result
    // A result that another run made at the same time did not go through `accept`, so it is read here.
    entry ??= bytes === undefined ? undefined : this.#read(call, open, bytes)
    const replayed = entry === undefined ? undefined : replay(call, entry, open)
    if (replayed === undefined) return this.#reads.run(() => call.work())
    this.#hits += 1
    return replayed.result
  }

  /** The entry in these bytes; undefined if this call cannot replay it. */
  #read<R, E>(call: Call<R, E>, { root, session }: Open, found: unknown): E | undefined {
    try {
      const entry = found instanceof Uint8Array ? root.absoluteEntry(unpack(found)) : undefined
      if (call.shape(entry)) return entry
      throw new Error('it does not have the shape of a result')
    } catch (error) {
      session.warnings.failed('has a result that was not stored by this plugin, which runs instead', error)
      return undefined
    }
  }

  /** The stored bytes; undefined if the cache failed. */
  async #ask(run: () => Promise<Uint8Array>): Promise<Uint8Array | undefined> {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof VarveError)) throw error
      this.#open?.session.warnings.failed('failed', error)
      return undefined
    }
  }

  /** Counts a call that cannot be cached, for this reason. */
  count(reason: string): void {
    if (this.#open !== undefined) this.#uncacheable.set(reason, (this.#uncacheable.get(reason) ?? 0) + 1)
  }

  async #begin(caller: Caller, warn: Warn): Promise<void> {
    const root = new Root(this.#options.root ?? caller.root)
    const cacheKey = this.#options.cacheKey ?? caller.keyOf(root)
    if (cacheKey === undefined) {
      warn(`${caller.name} is not cached: its options are not visible to the cache; pass them also as option 'cacheKey'`)
      return
    }
    const inputs = { ...identityOf({ ...this.#options, cacheKey }, root), ...caller.inputs }
    // An entry that contains the root outside of known path fields is valid for that root only.
    const findInput = (name: string): string | undefined => (name === 'root' ? root.folder : undefined)
    const session = this.#open?.session ?? (await Session.acquire(caller.tool, this.#options, root, warn))
    const scope = this.#reads.begin(caller, root.folder, warn)
    const tasks = new Map<string, Task<Uint8Array> | undefined>()
    const taskOf = (kind: string): Task<Uint8Array> | undefined => {
      const options = { root: root.folder, findInput, inputs, variants: VARIANTS, trackReads: scope }
      const task = tasks.get(kind) ?? session.task(`${caller.name} ${kind}`, options)
      tasks.set(kind, task)
      if (task !== undefined && !this.#tasks.has(task)) this.#tasks.set(task, task.stats())
      return task
    }
    this.#open = { session, root, taskOf }
  }

  /** The reasons of misses since the last call of this method. */
  #takeReasons(): Record<string, number> {
    const reasons = new Map<string, number>()
    for (const [task, before] of this.#tasks) {
      const stats = task.stats()
      this.#tasks.set(task, stats)
      for (const [reason, count] of Object.entries(stats.reasons)) {
        const news = count - (before.reasons[reason] ?? 0)
        if (news > 0) reasons.set(reason, (reasons.get(reason) ?? 0) + news)
      }
    }
    return Object.fromEntries(reasons)
  }

  /** The bytes to store; empty if the call is not cached. */
  #keep<R, E>(call: Call<R, E>, result: R, root: Root, context: TaskContext): Uint8Array {
    try {
      const kept = call.keep(result)
      if (kept === undefined) return skip(context)
      if (!call.shape(kept.entry)) throw new Uncacheable('returns or reports something unknown')
      for (const path of kept.watched) context.addFile(path)
      call.reads?.finish([...kept.watched, ...call.files])
      const [entry, isBound] = root.relativeEntry(kept.entry)
      if (isBound) context.addInput('root', root.folder)
      const bytes = pack(entry)
      this.#misses += 1
      return bytes
    } catch (error) {
      if (!(error instanceof Uncacheable)) this.#open?.session.warnings.failed('cannot store a result', error)
      this.count(error instanceof Uncacheable ? error.message : 'cannot be stored')
      return skip(context)
    }
  }

  #takeStats(): CachedStats {
    const stats = {
      name: this.#name,
      hits: this.#hits,
      misses: this.#misses,
      uncacheable: Object.fromEntries(this.#uncacheable),
      reasons: this.#takeReasons(),
      reads: this.#reads.recorded(),
    }
    this.#hits = this.#misses = 0
    this.#uncacheable.clear()
    return stats
  }
}

/** Replays an entry; undefined if the tool rejects it, so that the call has to run. */
function replay<R, E>(call: Call<R, E>, entry: E, { session }: Open): { readonly result: R } | undefined {
  try {
    return { result: call.replay(entry) }
  } catch (error) {
    session.warnings.failed('has a result that cannot be replayed, so the plugin runs', error)
    return undefined
  }
}

/** Stores nothing for this call. */
function skip(context: TaskContext): Uint8Array {
  context.skipStore()
  return new Uint8Array()
}

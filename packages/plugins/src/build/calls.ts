/**
 * The calls of one plugin or loader: each is answered from the cache, or made and kept. What a call is and how it is told
 * again is the business of each tool's own folder.
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

/** Results kept of each id: client and server, modes, branches. */
const VARIANTS = 8

/** Whose calls these are, as known when a build begins. */
export interface Caller {
  /** Name of the tool, also the name of the cache. */
  readonly tool: string
  /** Name of the plugin, for messages and for `varve why`. */
  readonly name: string
  /** The project's folder. */
  readonly root: string
  /** Stands for the plugin's options where the user gave no key; undefined where nothing does. */
  keyOf(root: Root): string | undefined
  /** Named inputs of all calls, besides those that the options name. */
  readonly inputs: Identity
  /** Local files whose code the plugin is made of, directly or through what they import. */
  readonly modules: readonly string[]
}

/** One call; `E` is what is kept of it. */
export interface Call<R, E> {
  /** What kind of call: the calls of one kind are one task. */
  readonly kind: string
  /** What it is about, with absolute paths: most calls differ in it. */
  readonly id: string
  readonly inputs: Readonly<Record<string, unknown>>
  /** Files that the result depends on, known before. */
  readonly files: readonly string[]
  /** The file that the call is about, absolute: reading it makes it an input of this call's result only. */
  readonly about?: string | undefined
  /** What the call read before `work`. */
  readonly reads?: ReadCall | undefined
  /** Makes the call. */
  work(): Promise<R>
  /** What to keep of it; undefined for nothing. Throws Uncacheable where it cannot be told again. */
  keep(result: R): Kept | undefined
  /** What an entry has to be to be replayed. What is not of this shape is not kept, and a miss where it was read. */
  readonly shape: Shape<E>
  /** Tells the tool again what was kept. What may throw comes before everything that has an effect. */
  replay(entry: E): R
}

/** What is kept of a call. */
export interface Kept {
  /** Plain data. */
  readonly entry: unknown
  /** Files and folders that the result depends on, found on the way. */
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

  /** Whether calls are answered from a cache now. */
  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** The project's folder while the cache is open. */
  get root(): Root | undefined {
    return this.#open?.root
  }

  /** A build begins, perhaps beside another one of the same plugin. Without a caller nothing is kept. */
  begin(caller: Caller | undefined, warn: Warn): Promise<void> {
    this.#builds += 1
    this.#name = caller?.name ?? this.#name
    if (this.#builds === 1 && caller !== undefined) this.#beginning = unrecorded(() => this.#begin(caller, warn))
    return this.#beginning
  }

  /** A build is over. Writes what is new and, unless another one is to follow, lets go of the cache. */
  async end(isWatching: boolean): Promise<void> {
    if (this.#builds === 0) return
    this.#builds -= 1
    if (this.#builds > 0) return
    this.#options.onStats?.(this.#takeStats())
    if (isWatching) return this.commit()
    await this.close()
    this.#reads.end()
  }

  /** What the plugin reads. */
  get reads(): PluginReads {
    return this.#reads
  }

  /** Writes what is new. */
  async commit(): Promise<void> {
    await this.#open?.session.commit()
  }

  /** Writes what is new and lets go of the cache. */
  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.session.release()
  }

  /** The result of a call: from the cache, or by making it. Rejects with what the call rejects with, and with nothing else. */
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
    // What another run made at the same time was not in the cache, and is asked for here.
    entry ??= bytes === undefined ? undefined : this.#read(call, open, bytes)
    const replayed = entry === undefined ? undefined : replay(call, entry, open)
    if (replayed === undefined) return this.#reads.run(() => call.work())
    this.#hits += 1
    return replayed.result
  }

  /** The entry in these bytes; undefined if they are none that this call can replay. */
  #read<R, E>(call: Call<R, E>, { root, session }: Open, found: unknown): E | undefined {
    try {
      const entry = found instanceof Uint8Array ? root.absoluteEntry(unpack(found)) : undefined
      if (call.shape(entry)) return entry
      throw new Error('it is not of the shape of a result')
    } catch (error) {
      session.warnings.failed('has a result that was not stored by this plugin, which runs instead', error)
      return undefined
    }
  }

  /** What is kept, undefined where the cache failed. */
  async #ask(run: () => Promise<Uint8Array>): Promise<Uint8Array | undefined> {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof VarveError)) throw error
      this.#open?.session.warnings.failed('failed', error)
      return undefined
    }
  }

  /** A call that is known not to be cacheable, for this reason. */
  count(reason: string): void {
    if (this.#open !== undefined) this.#uncacheable.set(reason, (this.#uncacheable.get(reason) ?? 0) + 1)
  }

  async #begin(caller: Caller, warn: Warn): Promise<void> {
    const root = new Root(this.#options.root ?? caller.root)
    const cacheKey = this.#options.cacheKey ?? caller.keyOf(root)
    if (cacheKey === undefined) {
      warn(`${caller.name} is not cached: its options cannot be seen, so pass them as option 'cacheKey', too`)
      return
    }
    const inputs = { ...identityOf({ ...this.#options, cacheKey }, root), ...caller.inputs }
    // Entries that name the root where it is no path are good for that root only.
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

  /** Why calls missed since the last time. */
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

  /** The bytes to keep; none where the call is not kept. */
  #keep<R, E>(call: Call<R, E>, result: R, root: Root, context: TaskContext): Uint8Array {
    try {
      const kept = call.keep(result)
      if (kept === undefined) return skip(context)
      if (!call.shape(kept.entry)) throw new Uncacheable('returns or tells something unknown')
      for (const path of kept.watched) context.addFile(path)
      call.reads?.finish([...kept.watched, ...call.files])
      const [entry, isBound] = root.relativeEntry(kept.entry)
      if (isBound) context.addInput('root', root.folder)
      const bytes = pack(entry)
      this.#misses += 1
      return bytes
    } catch (error) {
      if (!(error instanceof Uncacheable)) this.#open?.session.warnings.failed('cannot keep a result', error)
      this.count(error instanceof Uncacheable ? error.message : 'cannot be kept')
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

/** Replays an entry; undefined if the tool does not take it, and the call has to be made. */
function replay<R, E>(call: Call<R, E>, entry: E, { session }: Open): { readonly result: R } | undefined {
  try {
    return { result: call.replay(entry) }
  } catch (error) {
    session.warnings.failed('has a result that cannot be replayed, so the plugin runs', error)
    return undefined
  }
}

/** The result is for this call only. */
function skip(context: TaskContext): Uint8Array {
  context.skipStore()
  return new Uint8Array()
}

/**
 * One plugin whose hooks are kept: its calls are looked up, run and recorded, or told again.
 *
 *   begin (buildStart) -> run ... -> end (buildEnd) -> begin -> ... -> close (closeWatcher)
 */
import type { Task, TaskContext } from 'varve'
import { type Identity, identityOf } from '../build/identity.ts'
import type { CachedOptions, CachedStats } from '../build/options.ts'
import { pack, unpack } from '../build/pack.ts'
import { mapTexts, Root } from '../build/root.ts'
import { Session } from '../build/session.ts'
import { Uncacheable } from '../build/uncacheable.ts'
import { codesOf, type Entry } from './entry.ts'
import type { CachedHook, HookedPlugin } from './hooks.ts'
import { Recording } from './record.ts'
import { replay } from './replay.ts'

/** What differs between the tools that take Rollup's plugins. */
export interface Tool {
  readonly name: string
  /** Whether anything is kept now. */
  isOn(): boolean
  /** The project's folder. */
  root(): string
  /** Stands for the plugin's options where the user gave none; undefined where nothing does. */
  key(root: Root): string | undefined
  /** Named inputs that the tool adds for a call with this context. */
  inputs(context: object, root: Root): Identity
}

/** One call of a hook. */
export interface Call {
  readonly hook: CachedHook
  /** What the entry is found by, as the hook was given it. */
  readonly id: string
  readonly inputs: Readonly<Record<string, unknown>>
  readonly files: readonly string[]
  /** Runs the plugin's own hook with this context. */
  readonly work: (context: object) => unknown
}

/** What there is while a build is under way. */
interface Open {
  readonly session: Session
  readonly root: Root
  /** A task for each hook; none where there is no cache. */
  readonly taskOf: (hook: CachedHook) => Task<Uint8Array> | undefined
}

/** The calls of one plugin. */
export class PluginCache {
  readonly #plugin: HookedPlugin
  readonly #options: CachedOptions
  readonly #tool: Tool
  #open: Open | undefined
  #beginning: Promise<void> = Promise.resolve()
  #builds = 0
  #hits = 0
  #misses = 0
  readonly #uncacheable: Map<string, number> = new Map()

  constructor(plugin: HookedPlugin, options: CachedOptions, tool: Tool) {
    this.#plugin = plugin
    this.#options = options
    this.#tool = tool
  }

  /** A build begins, perhaps beside another one of the same plugin. `warn` is the tool's. */
  begin(warn: (text: string) => void): Promise<void> {
    this.#builds += 1
    if (this.#builds === 1) this.#beginning = this.#begin(warn)
    return this.#beginning
  }

  /** A build is over. Writes what is new and, unless another one is to follow, lets go of the cache. */
  async end(isWatching: boolean): Promise<void> {
    if (this.#builds === 0) return
    this.#builds -= 1
    if (this.#builds > 0) return
    this.#options.onStats?.(this.#takeStats())
    if (isWatching) await this.#open?.session.commit()
    else await this.close()
  }

  /** Writes what is new and lets go of the cache. */
  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.session.release()
  }

  /** Answers a call: from the cache, or by the plugin. */
  async run(context: object, call: Call): Promise<unknown> {
    const open = this.#open
    const task = open?.taskOf(call.hook)
    if (open === undefined || task === undefined) return call.work(context)
    let live: { readonly returned: unknown } | undefined
    const work = async (taskContext: TaskContext): Promise<Uint8Array> => {
      const recording = new Recording(context)
      const returned = await call.work(recording.context)
      live = { returned }
      return this.#keep(open, call, recording, returned, taskContext)
    }
    const inputs = { ...this.#tool.inputs(context, open.root), ...call.inputs }
    const request = { id: open.root.toRelative(call.id), inputs, files: call.files }
    const bytes = await task.run(request, work)
    if (live !== undefined) return live.returned
    this.#hits += 1
    return replay(mapTexts(unpack(bytes), (text) => open.root.toAbsolute(text)) as Entry, context)
  }

  /** A call that is known not to be cacheable. */
  count(reason: string): void {
    if (this.#open !== undefined) this.#uncacheable.set(reason, (this.#uncacheable.get(reason) ?? 0) + 1)
  }

  async #begin(warn: (text: string) => void): Promise<void> {
    if (!this.#tool.isOn()) return
    const root = new Root(this.#options.root ?? this.#tool.root())
    const key = this.#options.key ?? this.#tool.key(root)
    if (key === undefined) {
      warn(`${this.#plugin.name} is not cached: its options cannot be seen, so give them once more as option 'key'`)
      return
    }
    const inputs = { ...identityOf({ ...this.#options, key }, root), plugin: `${this.#plugin.name} ${versionOf(this.#plugin)}` }
    // Entries whose code names the root are good for that root only.
    const findInput = (name: string): string | undefined => (name === 'root' ? root.folder : undefined)
    const session = this.#open?.session ?? (await Session.acquire(this.#tool.name, this.#options, root, warn))
    const tasks = new Map<CachedHook, Task<Uint8Array> | undefined>()
    const taskOf = (hook: CachedHook): Task<Uint8Array> | undefined => {
      if (!tasks.has(hook)) tasks.set(hook, session.task(`${this.#plugin.name} ${hook}`, { root: root.folder, findInput, inputs }))
      return tasks.get(hook)
    }
    this.#open = { session, root, taskOf }
  }

  /** The bytes to keep; none where the call cannot be kept. */
  #keep({ root }: Open, call: Call, recording: Recording, returned: unknown, taskContext: TaskContext): Uint8Array {
    const isNothing = returned === null || returned === undefined
    try {
      // A hook that leaves an id to others is cheaper to ask again.
      if (isNothing && call.hook !== 'transform') return skip(taskContext)
      const entry = recording.finish(returned)
      for (const path of recording.watched) taskContext.addFile(path)
      const [kept, isBound] = relativeEntry(entry, root)
      if (isBound) taskContext.addInput('root', root.folder)
      const bytes = pack(kept)
      this.#misses += 1
      return bytes
    } catch (error) {
      if (!(error instanceof Uncacheable)) throw error
      this.count(error.message)
      return skip(taskContext)
    }
  }

  #takeStats(): CachedStats {
    const stats = { hits: this.#hits, misses: this.#misses, uncacheable: Object.fromEntries(this.#uncacheable) }
    this.#hits = this.#misses = 0
    this.#uncacheable.clear()
    return stats
  }
}

/** The result is for this call only. */
function skip(taskContext: TaskContext): Uint8Array {
  taskContext.skipStore()
  return new Uint8Array()
}

/** An entry with the mark in place of the root, and whether it is good for this root only. */
function relativeEntry(entry: Entry, root: Root): [kept: unknown, isBound: boolean] {
  // Source maps count the columns of code, so a path in code cannot become another one.
  let isBound = codesOf(entry).some((code) => root.isIn(code))
  const kept = mapTexts(entry, (text) => {
    if (root.hasMark(text)) throw new Uncacheable('holds the mark of the root')
    const relative = root.toRelative(text)
    isBound ||= root.isBeside(relative)
    return relative
  })
  return [kept, isBound]
}

/** Plugins tell their version themselves, or in their `api`. */
function versionOf(plugin: HookedPlugin): string {
  const { version, api }: { version?: unknown; api?: unknown } = plugin
  const told = typeof api === 'object' && api !== null && 'version' in api ? api.version : undefined
  return String(version ?? told ?? '')
}

/** The calls of one plugin of Rollup's family: what its hooks are called with becomes an id, inputs and files. */
import { isAbsolute } from 'node:path'
import { Calls, type Caller } from '../build/calls.ts'
import type { Identity } from '../build/identity.ts'
import { callers } from '../build/modules.ts'
import type { Root } from '../build/root.ts'
import type { Warn } from '../build/warnings.ts'
import { ENTRIES, type Entry } from './entry.ts'
import type { CachedHook, HookedPlugin } from './hooks.ts'
import type { CachedPluginOptions } from './options.ts'
import { besideContext, Recording } from './record.ts'
import { replay } from './replay.ts'

/** What differs between the tools that take Rollup's plugins. */
export interface Tool {
  readonly name: string
  /** Whether anything is kept now. */
  isOn(): boolean
  /** The project's folder. */
  root(): string
  /** Stands for a plugin's options where the user gave none; undefined where nothing does. */
  key(root: Root): string | undefined
  /** Local files that the plugins of this tool come from. */
  modules(): readonly string[]
  /** Named inputs that the tool adds for a call with this context. */
  inputs(context: object, root: Root): Identity
}

/** A call of a hook, described. */
export interface HookCall {
  readonly hook: CachedHook
  readonly id: string
  readonly inputs: Identity
  readonly files: readonly string[]
  /** Runs the plugin's own hook with this context. */
  readonly work: (context: object) => unknown
}

/** The calls of one plugin. */
export class PluginCache {
  readonly #plugin: HookedPlugin
  readonly #tool: Tool
  readonly #calls: Calls
  readonly #callers: readonly string[] = callers()

  constructor(plugin: HookedPlugin, options: CachedPluginOptions, tool: Tool) {
    this.#plugin = plugin
    this.#tool = tool
    this.#calls = new Calls(options)
  }

  begin(warn: Warn): Promise<void> {
    const tool = this.#tool
    const plugin = this.#plugin
    const inputs = { plugin: `${plugin.name} ${versionOf(plugin)}` }
    const modules = [...this.#callers, ...tool.modules()]
    const caller: Caller = { tool: tool.name, name: plugin.name, root: tool.root(), keyOf: (root) => tool.key(root), inputs, modules }
    return this.#calls.begin(tool.isOn() ? caller : undefined, warn)
  }

  end(isWatching: boolean): Promise<void> {
    return this.#calls.end(isWatching)
  }

  close(): Promise<void> {
    return this.#calls.close()
  }

  /** Counts a call that is known not to be cacheable. */
  count(reason: string): void {
    this.#calls.count(reason)
  }

  /** Runs a hook whose results are not kept, or a call that cannot be kept. */
  beside<T>(context: object, work: (context: object) => T): T {
    if (!this.#tool.isOn() || !this.#calls.reads.isOn) return work(context)
    return this.#calls.reads.runEarly(this.#plugin.name, this.#tool.root(), () => work(besideContext(context)))
  }

  /** Answers a call: from the cache, or by the plugin. */
  run(context: object, { hook, id, inputs, files, work }: HookCall): unknown {
    const { root } = this.#calls
    if (root === undefined) return this.beside(context, work)
    const recording = new Recording(context)
    return this.#calls.run<unknown, Entry>({
      kind: hook,
      id,
      inputs: { ...this.#tool.inputs(context, root), ...inputs },
      files,
      about: fileOf(id),
      work: async () => work(recording.context),
      keep: (returned) => {
        // A hook that leaves an id to others is cheaper to ask again.
        if (hook !== 'transform' && (returned === null || returned === undefined)) return undefined
        const entry = recording.finish(returned)
        return { entry, watched: recording.watched }
      },
      shape: ENTRIES[hook],
      replay: (entry) => replay(entry, context),
    })
  }
}

/** The path in an id. */
function fileOf(id: string): string | undefined {
  const [path = ''] = id.split('?', 1)
  return isAbsolute(path) ? path : undefined
}

/** Plugins tell their version themselves, or in their `api`. */
function versionOf(plugin: HookedPlugin): string {
  const { version, api }: { version?: unknown; api?: unknown } = plugin
  const told = typeof api === 'object' && api !== null && 'version' in api ? api.version : undefined
  return String(version ?? told ?? '')
}

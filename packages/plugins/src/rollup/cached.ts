/** The calls of one plugin of Rollup's family. */
import { isAbsolute } from 'node:path'
import { Calls, type Caller } from '../build/calls.ts'
import type { Identity } from '../build/identity.ts'
import { callers } from '../build/modules.ts'
import type { Root } from '../build/root.ts'
import type { Warn } from '../build/warnings.ts'
import { ENTRIES, type Entry } from './entry.ts'
import type { CachedHook, HookedPlugin } from './hooks.ts'
import type { CachedPluginOptions } from './options.ts'
import { Recording, unrecordedContext } from './record.ts'
import { replay } from './replay.ts'

/** The differences between the tools that use Rollup's plugins. */
export interface Tool {
  readonly name: string
  /** Whether this build uses the cache. */
  isOn(): boolean
  /** The project directory. */
  root(): string
  /** Replaces a plugin's options if the user passed none; undefined if the tool has no replacement. */
  key(root: Root): string | undefined
  /** Local files that create the plugins of this tool. */
  modules(): readonly string[]
  /** Named inputs that the tool adds to a call with this context. */
  inputs(context: object, root: Root): Identity
}

/** A description of one call of a hook. */
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

  /** Counts a call that cannot be cached. */
  count(reason: string): void {
    this.#calls.count(reason)
  }

  /** Runs a hook, or a call of one, that is not cached. */
  runUncached<T>(context: object, work: (context: object) => T): T {
    if (!this.#tool.isOn() || !this.#calls.reads.isOn) return work(context)
    return this.#calls.reads.runEarly(this.#plugin.name, this.#tool.root(), () => work(unrecordedContext(context)))
  }

  /** Answers a call from the cache, or runs it. */
  run(context: object, { hook, id, inputs, files, work }: HookCall): unknown {
    const { root } = this.#calls
    if (root === undefined) return this.runUncached(context, work)
    const recording = new Recording(context)
    return this.#calls.run<unknown, Entry>({
      kind: hook,
      id,
      inputs: { ...this.#tool.inputs(context, root), ...inputs },
      files,
      about: fileOf(id),
      work: async () => work(recording.context),
      keep: (returned) => {
        // A hook that leaves the id to other plugins is cheaper to run again.
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

/** The version of a plugin: its own property, or the one of its `api`. */
function versionOf(plugin: HookedPlugin): string {
  const { version, api }: { version?: unknown; api?: unknown } = plugin
  const apiVersion = typeof api === 'object' && api !== null && 'version' in api ? api.version : undefined
  return String(version ?? apiVersion ?? '')
}

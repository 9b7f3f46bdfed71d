/** The calls of one plugin of Rollup's family, and the runs that a server owes its files after hits. */
import { isAbsolute } from 'node:path'
import type { Caller, InputParts } from '../build/call.ts'
import { Calls } from '../build/calls.ts'
import type { Identity } from '../build/identity.ts'
import { LEADS_TO_OWN, callers } from '../build/modules.ts'
import { OwnPath, type Root } from '../build/root.ts'
import type { Parts } from '../build/digest.ts'
import { Uncacheable } from '../build/pack.ts'
import type { Warn } from '../build/session.ts'
import { uncachedContext } from './contexts.ts'
import { ENTRIES, type Entry } from './entry.ts'
import { type CachedHook, type CachedPluginOptions, type HookedPlugin, HOOKS_CACHED, isHook } from './hooks.ts'
import { isKnownStateless, namesOwnPath, stateOf } from './state.ts'
import { isComplete, isSelfContained, replay, Recording } from './record.ts'
import { lookAt, stampOf } from '../host/files.ts'

/** The differences between the tools that use Rollup's plugins. */
export interface Tool {
  readonly name: string
  /** Whether this build uses the cache. */
  isOn(): boolean
  /** Whether the tool is a development server. */
  isServer(): boolean
  /** The project directory. */
  root(): string
  /** Replaces a plugin's options if the user passed none; undefined if the tool has no replacement. */
  key(root: Root): string | undefined
  /** Local files that create the plugins of this tool. */
  modules(): readonly string[]
  /** All plugins of the config, for a tool that has one. */
  plugins?(): readonly HookedPlugin[]
  /** Named inputs that the tool adds to a call with this context. */
  inputs(context: object, root: Root): Identity
  /** The parts of these inputs, and those of the key. */
  parts?(context: object, input: string, root: Root): ReturnType<InputParts>
  keyParts?(root: Root): Parts
}

export interface HookCall {
  readonly hook: CachedHook
  readonly id: string
  readonly inputs: Identity
  /** The code that the hook is called with; in `inputs`, a mark replaces the root in it. */
  readonly code?: string
  readonly files: readonly string[]
  /** Runs the plugin's own hook with this context. */
  readonly work: (context: object) => unknown
}

/**
 * Files that changed while a server of this process watched them. What a plugin makes of such a file may depend on what it was before,
 * so the plugin runs.
 */
const changed: Set<string> = new Set()

export class PluginCache {
  readonly #plugin: HookedPlugin
  readonly #tool: Tool
  readonly #calls: Calls
  readonly #hasKey: boolean
  /** Whether the user declares that the plugin keeps nothing between its hooks. */
  readonly #isDeclared: boolean
  /** Whether the user declares that, or Varve knows it. */
  readonly #isStateless: boolean
  readonly #callers: readonly string[] = callers()
  readonly #owed: OwedRuns = new OwedRuns()

  constructor(plugin: HookedPlugin, options: CachedPluginOptions, tool: Tool) {
    this.#plugin = plugin
    this.#tool = tool
    this.#hasKey = options.cacheKey !== undefined
    this.#isDeclared = options.stateless === true
    this.#isStateless = this.#isDeclared || isKnownStateless(plugin)
    this.#calls = new Calls(options, (isStillIdle) => void this.#owed.settleAll(isStillIdle))
  }

  /** `options`: the argument of the hook `buildStart`, which has the plugins of the build. */
  begin(warn: Warn, info: Warn, options?: unknown): Promise<void> {
    const tool = this.#tool
    const plugin = this.#plugin
    const plugins = tool.plugins?.() ?? pluginsIn(options)
    const caller: Caller = {
      tool: tool.name,
      name: plugin.name,
      root: tool.root(),
      keyOf: (root) => tool.key(root),
      inputs: {
        plugin: `${plugin.name} ${versionOf(plugin)}${placeAmong(plugins, plugin)}`,
      },
      refusal: this.#isDeclared ? undefined : stateOf(plugin, plugins),
      // Options that the user did not pass are the text of the config.
      parts: (input, root) => {
        const parts = input === 'options' && !this.#hasKey && tool.keyParts?.bind(tool, root)
        return parts ? { key: 'config', parts } : undefined
      },
      modules: [...this.#callers, ...tool.modules()],
      isServer: tool.isServer(),
      info,
    }
    return this.#calls.begin(tool.isOn() ? caller : undefined, warn)
  }

  /** Resolves when the cache of a build that begins is open; undefined if none is being opened. */
  get beginning(): Promise<void> | undefined {
    return this.#calls.beginning
  }

  /** The inputs that all calls in an environment share; undefined if results are not cached. */
  inputsIn(context: object): Identity | undefined {
    const { root, inputs, isRefused } = this.#calls
    if (isRefused) return {} // what other caches do with its results is their own matter
    return root === undefined || inputs === undefined ? undefined : { ...this.#tool.inputs(context, root), ...inputs }
  }

  end(isWatching: boolean): Promise<void> {
    this.#owed.drop()
    return this.#calls.end(isWatching && !this.#tool.isServer())
  }

  close(): Promise<void> {
    return this.#calls.close()
  }

  /** Called when the tool has detected a change of a file. */
  noteChange(path: string): void {
    if (!this.#tool.isServer()) return
    changed.add(path)
    this.#owed.drop(path)
  }

  /** Counts a call that cannot be cached. */
  count(reason: string): void {
    this.#calls.count(reason)
  }

  /** A text with a mark in place of the root, so that another checkout has the same one. */
  relative(text: string): string {
    return this.#calls.root?.toRelative(text) ?? text
  }

  /** Runs a hook, or a call of one for this file, that is not cached. */
  runUncached<T>(context: object, work: (context: object) => T, file?: string): T {
    if (!this.#tool.isOn()) return work(context)
    return this.#calls.reads.runEarly(this.#plugin.name, this.#tool.root(), () => work(uncachedContext(context)), file)
  }

  /** Answers a call from the cache, or runs it. */
  run(context: object, { hook, id, code, inputs, files, work }: HookCall): unknown {
    const { root } = this.#calls
    if (root === undefined) return this.runUncached(context, work)
    const file = fileOf(id)
    if (hook === 'load' && id.includes('?') && isHook(this.#plugin, 'transform') && !this.#isStateless) {
      this.count('loads a part of a module that it transforms')
      return this.runUncached(context, work, file)
    }
    const isServer = this.#tool.isServer()
    if (isServer && file !== undefined && changed.has(file)) {
      this.count('is for a file that changed while the server runs')
      return this.runUncached(context, work, file)
    }
    const recording = new Recording(context)
    return this.#calls.run<unknown, Entry>({
      kind: hook,
      id,
      inputs: { ...this.#tool.inputs(context, root), ...inputs },
      parts: (input) => this.#tool.parts?.(context, input, root),
      files,
      about: file,
      isGiven: hook === 'transform' ? true : undefined,
      work: async () => {
        if (isServer && file !== undefined) await this.#owed.settle(file)
        return recording.run(work)
      },
      keep: (returned) => {
        // A hook that leaves the id to other plugins is cheaper to run again.
        if (hook !== 'transform' && (returned === null || returned === undefined)) return undefined
        const entry = recording.finish(returned)
        if (!this.#isStateless && !isSelfContained({ hook, entry, code, file, root: this.#tool.root() }))
          throw new Uncacheable(LEADS_TO_OWN)
        const own =
          file !== undefined && namesOwnPath(this.#plugin.name, file, code)
            ? new OwnPath(file, mapOf(entry))
            : undefined
        // What is made of code with the root in it depends on the length of the root. A plugin that leaves such code alone does so anywhere.
        const isBound = code !== inputs['code'] && (entry.returned !== null || entry.calls.length > 0)
        return { entry, watched: recording.watched, own, isBound }
      },
      shape: ENTRIES[hook],
      accepts: (entry) => isComplete(entry, context),
      replay: (entry) => {
        const returned = replay(entry, context)
        if (isServer && hook === 'transform' && id === file && hasHotUpdates(this.#plugin))
          this.#owe(file, context, work)
        return returned
      },
    })
  }

  /** The plugin runs later for a file that the cache has answered for. */
  #owe(file: string, context: object, work: (context: object) => unknown): void {
    this.#owed.add(file, () => this.runUncached(mutedContext(context), work, file))
  }
}

/** The source map of what a hook returned. */
function mapOf({ returned }: Entry): unknown {
  return typeof returned === 'object' && returned !== null && 'map' in returned ? returned.map : undefined
}

/** Whether a plugin has hooks that compare modules with what they were. */
function hasHotUpdates({ handleHotUpdate, hotUpdate }: HookedPlugin): boolean {
  return handleHotUpdate !== undefined || hotUpdate !== undefined
}

/** The path in an id. */
function fileOf(id: string): string | undefined {
  const [path = ''] = id.split('?', 1)
  return isAbsolute(path) ? path : undefined
}

/** The place of a plugin among those of its name, whose options may differ; empty for the first. A config may have a copy of a plugin. */
function placeAmong(all: readonly HookedPlugin[], plugin: HookedPlugin): string {
  const isSame = (one: HookedPlugin): boolean =>
    one === plugin || HOOKS_CACHED.every((hook) => one[hook] === plugin[hook])
  const place = all.filter(({ name }) => name === plugin.name).findIndex(isSame)
  return place > 0 ? ` ${place}` : ''
}

function pluginsIn(options: unknown): readonly HookedPlugin[] {
  const plugins: unknown = typeof options === 'object' && options !== null ? Reflect.get(options, 'plugins') : undefined
  return Array.isArray(plugins) ? plugins : []
}

/** The version of a plugin: its own property, or the one of its `api`; empty if the plugin throws for them. */
function versionOf(plugin: HookedPlugin): string {
  try {
    const { version, api }: { version?: unknown; api?: unknown } = plugin
    const apiVersion = typeof api === 'object' && api !== null && 'version' in api ? api.version : undefined
    return String(version ?? apiVersion ?? '')
  } catch {
    return ''
  }
}

// A hit skips the plugin. In a server, a plugin with hooks for hot updates needs the state that it would have kept of the file: Vue
// compares a component with the one before. So the plugin is owed this run. It gets it when the server is idle, and before it runs for
// another part of the file. If the file changes before, the plugin has no state of it, as of a file that it never processed.

interface Owed {
  /** Size, times and inode of the file that the run is for. */
  readonly stamp: string
  readonly run: () => unknown
}

/** The runs that one plugin is owed, by file. */
export class OwedRuns {
  readonly #owed: Map<string, Owed[]> = new Map()
  readonly #running: Map<string, Promise<void>> = new Map()

  /** Adds a run. Its result is not used. */
  add(file: string, run: () => unknown): void {
    const list = this.#owed.get(file) ?? []
    this.#owed.set(file, [...list, { stamp: stampOf(lookAt(file)), run }])
  }

  /** Resolves when nothing is owed for this file. */
  async settle(file: string): Promise<void> {
    const list = this.#owed.get(file)
    this.#owed.delete(file)
    if (list !== undefined) this.#running.set(file, runAll(file, list))
    await this.#running.get(file)
    this.#running.delete(file)
  }

  /** Runs what is owed, one file at a time, while `isIdle`. */
  async settleAll(isIdle: () => boolean): Promise<void> {
    for (const file of this.#owed.keys()) {
      if (!isIdle()) return
      await this.settle(file)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Drops what is owed for a file that changed, or for all files. */
  drop(file?: string): void {
    if (file === undefined) this.#owed.clear()
    else this.#owed.delete(file)
  }
}

/** The plugin context of an owed run, whose effects on the tool the hit has repeated. */
export function mutedContext(original: object): object {
  return new Proxy(original, {
    get(target, name) {
      if (name === 'addWatchFile' || name === 'emitFile' || name === 'warn' || name === 'info' || name === 'debug')
        return () => ''
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function runAll(file: string, list: readonly Owed[]): Promise<void> {
  for (const { stamp, run } of list) {
    if (stamp === '' || stamp !== stampOf(lookAt(file))) return
    try {
      await run()
    } catch {
      // The plugin has the state that it keeps of a module that it cannot process.
    }
  }
}

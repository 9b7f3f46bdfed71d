/**
 * Caches what expensive esbuild plugins load.
 *
 * @example
 * import { cached } from '@varve/plugins/esbuild'
 * const options = { jsx: 'automatic' }
 * await esbuild.build({ entryPoints: ['main.js'], bundle: true, plugins: [cached(mdx(options), { cacheKey: options })] })
 */
import type { BuildOptions, OnEndResult, OnStartResult, Plugin, PluginBuild } from 'esbuild'
import { installReads } from 'varve/reads'
import { digest, lenientDigest, valueParts } from './build/digest.ts'
import { type CachedOptions, FIELDS, type StatelessOption, checkOptions, checkPlugin } from './build/options.ts'
import { dirname } from 'node:path'
import { noteOutput, BOOLEAN, type Fields } from 'varve/internal'
import type { Caller, InputParts } from './build/call.ts'
import { Calls } from './build/calls.ts'
import { callers } from './build/modules.ts'
import { projectRoot } from './build/root.ts'
import { cachedLoad, type Loading, refusals, type RunUncached } from './esbuild/load.ts'

export { CONFIG_FILES } from './build/identity.ts'
export type { CachedOptions, CachedStats } from './build/options.ts'

// Before a config creates its plugins, so that all that it reads is recorded. In a shared module this would run for each entry point.
installReads()

/** Options of `cached` for the plugins of esbuild. */
export interface CachedEsbuildOptions extends CachedOptions, StatelessOption {}

const PLUGIN_FIELDS: Fields<CachedEsbuildOptions> = { ...FIELDS, stateless: BOOLEAN }

/**
 * Returns a copy of a plugin with a cache around it. The cache answers `onLoad` if none of its inputs has changed.
 *
 * Throws INVALID_ARGUMENT for what is not one plugin. Throws INVALID_OPTION for unknown or wrong options, and for a `cacheKey` that
 * cannot be compared.
 */
export function cached(plugin: Plugin, options: CachedEsbuildOptions = {}): Plugin {
  checkPlugin(plugin)
  checkOptions('cached()', options, PLUGIN_FIELDS)
  digest(options.cacheKey, 'cacheKey')
  return wrapPlugin(plugin, options)
}

function wrapPlugin(plugin: Plugin, { stateless = false, ...options }: CachedOptions & StatelessOption): Plugin {
  const modules = callers()
  return {
    ...plugin,
    name: plugin.name, // may be that of a class
    setup(build) {
      const calls = new Calls(options)
      const { initialOptions } = build
      const folder = options.root ?? initialOptions.absWorkingDir ?? process.cwd()
      const { outdir, outfile } = initialOptions
      if (outdir ?? outfile) noteOutput(outdir ?? dirname(outfile ?? ''), folder)
      // Warnings of the cache become warnings of the build. esbuild accepts them when a build starts and when it ends.
      const warnings: { text: string }[] = []
      // When a build starts, all plugins have been set up, and may have changed its options.
      const callbacks = new Callbacks()
      const begin = (): Promise<void> => {
        const refusal = stateless ? undefined : callbacks.state
        const caller = { ...callerOf(plugin, build, folder), modules, refusal }
        return calls.begin(caller, (text) => void warnings.push({ text }))
      }
      build.onStart(() => withWarnings(begin, warnings))
      const runUncached: RunUncached = (work) => calls.reads.runEarly(plugin.name, folder, work)
      const done = runUncached(() =>
        plugin.setup(recordingBuild(build, { calls, runUncached, callbacks, folder, isStateless: stateless })),
      )
      // A plugin cannot know whether another build will follow, so the cache is closed when esbuild disposes of the build.
      build.onEnd(() => withWarnings(() => calls.end(true, true), warnings))
      build.onDispose(() => {
        calls.reads.end()
        void calls.close()
      })
      return done
    },
  }
}

/** Does some work, and returns the warnings so far. */
async function withWarnings(
  work: () => Promise<void>,
  warnings: { text: string }[],
): Promise<OnStartResult & OnEndResult> {
  await work()
  return { warnings: warnings.splice(0) }
}

function callerOf(plugin: Plugin, build: PluginBuild, folder: string): Omit<Caller, 'modules'> {
  const root = projectRoot(folder)
  const inputs = {
    tool: build.esbuild.version,
    plugin: plugin.name,
    config: lenientDigest(deciding(build.initialOptions), (text) => root.toRelative(text)),
  }
  // esbuild has no logger for plugins. It prints its own summary to standard error.
  const info = (text: string): void => void process.stderr.write(`${text}\n`)
  const parts: InputParts = (input) =>
    input === 'config'
      ? { key: input, parts: () => valueParts(deciding(build.initialOptions), (text) => root.toRelative(text)) }
      : undefined
  return { tool: 'esbuild', name: plugin.name, root: folder, keyOf: () => undefined, inputs, parts, info }
}

/** Options for entry points, output and logging. Results of plugins do not depend on them. */
const LEFT_OUT: readonly string[] =
  'plugins entryPoints stdin outdir outfile outbase absWorkingDir write metafile logLevel logLimit logOverride color'.split(
    ' ',
  )

/** The other options of a build. */
function deciding(options: BuildOptions): unknown {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !LEFT_OUT.includes(name)))
}

/**
 * The callbacks that a plugin has registered. A hit skips `onLoad`, so what it would have kept is missing in callbacks that see more than
 * one module, and in those that load modules of the plugin's own.
 */
class Callbacks {
  /** Why the plugin may keep something between its callbacks; undefined if it cannot. */
  state: string | undefined
  #resolves = false
  #loads = false

  note(name: 'onEnd' | 'onResolve' | 'onLoad', namespace = 'file'): void {
    this.#resolves ||= name === 'onResolve'
    this.#loads ||= name === 'onLoad'
    if (name === 'onEnd') this.state ??= "its callback 'onEnd' may use what it keeps of each module"
    else if (name === 'onLoad' && namespace !== 'file')
      this.state ??= `its namespace '${namespace}' may have modules that are made of what it keeps of others`
    else if (this.#resolves && this.#loads)
      this.state ??= "its callback 'onResolve' may lead to modules that are made of what it keeps of others"
  }
}

/** What the build of a plugin needs to record it. */
interface Recorded extends Loading {
  readonly callbacks: Callbacks
}

/** The build that the plugin gets. It wraps the callbacks, and detects calls that cannot be replayed. */
function recordingBuild(build: PluginBuild, { callbacks, ...loading }: Recorded): PluginBuild {
  const { runUncached } = loading
  return {
    ...build,
    onStart: (start) => build.onStart(() => runUncached(start)),
    onEnd: (end) => {
      callbacks.note('onEnd')
      build.onEnd(end)
    },
    onResolve: (filter, resolve) => {
      callbacks.note('onResolve')
      build.onResolve(filter, (args) => runUncached(() => resolve(args)))
    },
    onLoad: (filter, load) => {
      callbacks.note('onLoad', filter.namespace)
      build.onLoad(filter, cachedLoad(load, loading))
    },
    resolve: (path, options) => {
      refusals.getStore()?.push('uses build.resolve')
      return build.resolve(path, options)
    },
  }
}

/** An esbuild plugin whose `onLoad` callbacks are answered from the cache: its setup gets a build that wraps them. */
import type { BuildOptions, OnEndResult, OnStartResult, Plugin, PluginBuild } from 'esbuild'
import { type Caller, Calls } from '../build/calls.ts'
import { lenientDigest } from '../build/digest.ts'
import { callers } from '../build/modules.ts'
import type { CachedOptions } from '../build/options.ts'
import { Root } from '../build/root.ts'
import { cachedLoad, refusals } from './load.ts'

/** The plugin with a cache around it. */
export function wrapPlugin(plugin: Plugin, options: CachedOptions): Plugin {
  const modules = callers()
  return {
    ...plugin,
    setup(build) {
      const calls = new Calls(options)
      const { initialOptions } = build
      const folder = options.root ?? initialOptions.absWorkingDir ?? process.cwd()
      // What the cache says becomes warnings of the build: esbuild takes them when it starts and when it ends.
      const warnings: { text: string }[] = []
      const begin = calls.begin.bind(calls, { ...callerOf(plugin, build, folder), modules }, (text) => void warnings.push({ text }))
      build.onStart(() => telling(begin, warnings))
      const beside: Beside = (work) => calls.reads.runEarly(plugin.name, folder, work)
      const done = beside(() => plugin.setup(recordingBuild(build, calls, beside)))
      // esbuild tells no plugin whether there will be another build: the cache is closed when it disposes of this one.
      build.onEnd(() => telling(() => calls.end(true), warnings))
      build.onDispose(() => void calls.close())
      return done
    },
  }
}

/** Does some work, and hands over what was said until then. */
async function telling(work: () => Promise<void>, warnings: { text: string }[]): Promise<OnStartResult & OnEndResult> {
  await work()
  return { warnings: warnings.splice(0) }
}

function callerOf(plugin: Plugin, build: PluginBuild, folder: string): Omit<Caller, 'modules'> {
  const root = new Root(folder)
  const inputs = {
    tool: build.esbuild.version,
    plugin: plugin.name,
    config: lenientDigest(deciding(build.initialOptions), (text) => root.toRelative(text)),
  }
  return { tool: 'esbuild', name: plugin.name, root: folder, keyOf: () => undefined, inputs }
}

/** Options that say what is built and where to, which plugins do not go by. */
const LEFT_OUT: readonly string[] =
  'plugins entryPoints stdin outdir outfile outbase absWorkingDir write metafile logLevel logLimit logOverride color'.split(' ')

/** The other options of a build. */
function deciding(options: BuildOptions): unknown {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !LEFT_OUT.includes(name)))
}

/** Runs work of the plugin whose result is not kept. */
type Beside = <T>(work: () => T) => T

/** The build as the plugin sees it: its callbacks are wrapped, and what cannot be replayed is found out. */
function recordingBuild(build: PluginBuild, calls: Calls, beside: Beside): PluginBuild {
  return {
    ...build,
    onStart: (start) => build.onStart(() => beside(start)),
    onResolve: (filter, resolve) => build.onResolve(filter, (args) => beside(() => resolve(args))),
    onLoad: (filter, load) => build.onLoad(filter, cachedLoad(load, calls, beside)),
    resolve: (path, options) => {
      refusals.getStore()?.push('uses build.resolve')
      return build.resolve(path, options)
    },
  }
}

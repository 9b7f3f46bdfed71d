/** An esbuild plugin whose `onLoad` callbacks are answered from the cache: its setup gets a build that wraps them. */
import type { BuildOptions, OnStartResult, Plugin, PluginBuild } from 'esbuild'
import { type Caller, Calls } from '../build/calls.ts'
import { lenientDigest } from '../build/digest.ts'
import type { CachedOptions } from '../build/options.ts'
import { Root } from '../build/root.ts'
import { cachedLoad, refusals } from './load.ts'

/** The plugin with a cache around it. */
export function wrapPlugin(plugin: Plugin, options: CachedOptions): Plugin {
  return {
    ...plugin,
    setup(build) {
      const calls = new Calls(options)
      const { initialOptions } = build
      const folder = options.root ?? initialOptions.absWorkingDir ?? process.cwd()
      // esbuild tells no plugin whether there will be another build: the cache is closed when it disposes of this one.
      build.onStart(() => begin(calls, callerOf(plugin, build, folder)))
      const end = async (): Promise<void> => calls.end(true)
      const done = plugin.setup(recordingBuild(build, calls))
      build.onEnd(end)
      build.onDispose(() => void calls.close())
      return done
    },
  }
}

/** Opens the cache; says what went wrong as warnings of the build. */
async function begin(calls: Calls, caller: Caller): Promise<OnStartResult> {
  const warnings: { text: string }[] = []
  await calls.begin(caller, (text) => void warnings.push({ text }))
  return { warnings }
}

function callerOf(plugin: Plugin, build: PluginBuild, folder: string): Caller {
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

/** The build as the plugin sees it: its callbacks are wrapped, and what cannot be replayed is found out. */
function recordingBuild(build: PluginBuild, calls: Calls): PluginBuild {
  return {
    ...build,
    onLoad: (filter, load) => build.onLoad(filter, cachedLoad(load, calls)),
    resolve: (path, options) => {
      refusals.getStore()?.push('uses build.resolve')
      return build.resolve(path, options)
    },
  }
}

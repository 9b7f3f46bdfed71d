/** The `onLoad` callbacks of one esbuild plugin: what they are called with and what they return, as plain data. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { OnLoadArgs, OnLoadResult } from 'esbuild'
import type { Calls, Kept } from '../build/calls.ts'
import { digest } from '../build/digest.ts'
import { Uncacheable } from '../build/uncacheable.ts'
import { type Entry, entryShape } from './entry.ts'

/** What a callback may return. */
export type Loaded = OnLoadResult | null | undefined
export type Load = (args: OnLoadArgs) => Loaded | Promise<Loaded>

/** Reasons found while a callback runs, for the call that they belong to. */
export const refusals: AsyncLocalStorage<string[]> = new AsyncLocalStorage()

/** The callback, answered from the cache. */
export function cachedLoad(load: Load, calls: Calls, beside: <T>(work: () => T) => T): Load {
  return (args) => {
    const reason = reasonOf(args)
    if (reason !== undefined) {
      calls.count(reason)
      return beside(() => load(args))
    }
    const { path, namespace, suffix, with: attributes } = args
    const reasons: string[] = []
    return calls.run<Loaded, Entry>({
      kind: 'load',
      id: path,
      inputs: { call: digest({ namespace, suffix, with: attributes }, 'args') },
      files: [path],
      about: path,
      work: async () => refusals.run(reasons, () => load(args)),
      keep: (loaded) => keep(loaded, reasons),
      shape: entryShape,
      replay: (entry) => entry,
    })
  }
}

/** Why a call cannot be kept, as far as its arguments tell. */
function reasonOf({ path, pluginData }: OnLoadArgs): string | undefined {
  if (pluginData !== undefined && pluginData !== null) return 'is called with pluginData'
  const isFile = isAbsolute(path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true
  return isFile ? undefined : 'loads what is no file'
}

/** What to keep; nothing for a callback that leaves the file to others, which is cheaper to ask again. */
function keep(loaded: Loaded, reasons: readonly string[]): Kept | undefined {
  if (loaded === null || loaded === undefined || loaded.contents === undefined) return undefined
  const [reason] = reasons
  if (reason !== undefined) throw new Uncacheable(reason)
  const { pluginName, errors, warnings, contents, resolveDir, loader, pluginData, watchFiles = [], watchDirs = [], ...rest } = loaded
  if (errors !== undefined && errors.length > 0) throw new Uncacheable('returns errors')
  if (pluginData !== undefined && pluginData !== null) throw new Uncacheable('returns pluginData')
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw new Uncacheable(`returns '${unknown}'`)
  const entry = { pluginName, warnings, contents, resolveDir, loader, watchFiles, watchDirs }
  return { entry, watched: [...watchFiles, ...watchDirs] }
}

/** Caches the `onLoad` callbacks of one esbuild plugin: arguments and results as plain data. esbuild fails the build for a result of another shape. */
import type { Loader, Location, OnLoadResult, PartialMessage, PartialNote, OnLoadArgs } from 'esbuild'
import {
  isAbsolutePath,
  isAnything,
  isBytes,
  either,
  exactly,
  isIndex,
  listOf,
  nullable,
  objectOf,
  optional,
  type Shape,
  isText,
  Uncacheable,
} from '../build/pack.ts'
import { AsyncLocalStorage } from 'node:async_hooks'
import { isAbsolute } from 'node:path'
import type { CallResult } from '../build/call.ts'
import type { Calls } from '../build/calls.ts'
import { digest } from '../build/digest.ts'
import { isFile, textOf } from '../host/files.ts'
import { foldersFor, LEADS_TO_OWN, leadsToFiles } from '../build/modules.ts'

const isLoader: Shape<Loader> = exactly(
  ...([
    'base64',
    'binary',
    'copy',
    'css',
    'dataurl',
    'default',
    'empty',
    'file',
    'js',
    'json',
    'jsx',
    'local-css',
    'text',
    'ts',
    'tsx',
  ] as const),
)

const location = objectOf<Partial<Location>>({
  file: optional(isText),
  namespace: optional(isText),
  line: optional(isIndex),
  column: optional(isIndex),
  length: optional(isIndex),
  lineText: optional(isText),
  suggestion: optional(isText),
})

const note = objectOf<PartialNote>({ text: optional(isText), location: nullable(location) })

const warning = objectOf<PartialMessage>({
  id: optional(isText),
  pluginName: optional(isText),
  text: optional(isText),
  location: nullable(location),
  notes: optional(listOf(note)),
  detail: isAnything,
})

/** The stored part of a result. */
export type Entry = Pick<
  OnLoadResult,
  'pluginName' | 'warnings' | 'resolveDir' | 'loader' | 'watchFiles' | 'watchDirs'
> & {
  readonly contents: string | Uint8Array
}

/** The shape of an entry. A result without contents is not stored: esbuild asks the next plugin, which is cheap to repeat. */
export const entryShape: Shape<Entry> = objectOf<Entry>({
  pluginName: optional(isText),
  warnings: optional(listOf(warning)),
  contents: either(isText, isBytes),
  resolveDir: optional(isAbsolutePath),
  loader: optional(isLoader),
  watchFiles: optional(listOf(isAbsolutePath)),
  watchDirs: optional(listOf(isAbsolutePath)),
})

export type CallbackResult = OnLoadResult | null | undefined
export type Load = (args: OnLoadArgs) => CallbackResult | Promise<CallbackResult>

/** Reasons against caching that are found while a callback runs, by call. */
export const refusals: AsyncLocalStorage<string[]> = new AsyncLocalStorage()

/** Runs work of the plugin whose result is not cached. */
export type RunUncached = <T>(work: () => T) => T

/** What the callbacks of one plugin have in common. */
export interface Loading {
  readonly calls: Calls
  readonly runUncached: RunUncached
  /** The directory of the build. */
  readonly folder: string
  /** Whether the user declares that the plugin keeps nothing between its callbacks. */
  readonly isStateless: boolean
}

/** A callback that answers calls from the cache, or by `load`. */
export function cachedLoad(load: Load, { calls, runUncached, folder, isStateless }: Loading): Load {
  return (args) => {
    const reason = reasonOf(args)
    if (reason !== undefined) {
      calls.count(reason)
      return runUncached(() => load(args))
    }
    const { path, namespace, suffix, with: attributes } = args
    const reasons: string[] = []
    return calls.run<CallbackResult, Entry>({
      kind: 'load',
      id: path,
      inputs: { call: digest({ namespace, suffix, with: attributes }, 'args') },
      files: [path],
      about: path,
      work: async () => refusals.run(reasons, () => load(args)),
      keep: (loaded) => {
        const kept = keep(loaded, reasons)
        if (kept !== undefined && !isStateless && !isSelfContained(loaded, path, folder))
          throw new Uncacheable(LEADS_TO_OWN)
        return kept
      },
      shape: entryShape,
      replay: (entry) => entry,
    })
  }
}

/** The reason why a call cannot be cached, if its arguments show one. */
function reasonOf({ path, namespace, pluginData }: OnLoadArgs): string | undefined {
  if (namespace !== 'file') return 'loads a module in a namespace of its own'
  if (pluginData !== undefined && pluginData !== null) return 'is called with pluginData'
  return isAbsolute(path) && isFile(path) ? undefined : 'does not load a file'
}

/** Whether esbuild can load without the plugin what the contents import. */
function isSelfContained(loaded: CallbackResult, path: string, folder: string): boolean {
  const { contents = '', resolveDir } = loaded ?? {}
  const code = typeof contents === 'string' ? contents : Buffer.from(contents).toString('latin1')
  const source = textOf(path, typeof contents === 'string' ? 'utf8' : 'latin1') ?? ''
  const folders = [...foldersFor(path, folder), ...(resolveDir === undefined ? [] : [resolveDir])]
  return leadsToFiles({ code, source, emitted: [] }, folders)
}

/** What to store; undefined for a callback that leaves the file to other plugins, which is cheaper to run again. */
function keep(loaded: CallbackResult, reasons: readonly string[]): CallResult | undefined {
  if (loaded === null || loaded === undefined || loaded.contents === undefined) return undefined
  const [reason] = reasons
  if (reason !== undefined) throw new Uncacheable(reason)
  const {
    pluginName,
    errors,
    warnings,
    contents,
    resolveDir,
    loader,
    pluginData,
    watchFiles = [],
    watchDirs = [],
    ...rest
  } = loaded
  if (errors !== undefined && errors.length > 0) throw new Uncacheable('returns errors')
  if (pluginData !== undefined && pluginData !== null) throw new Uncacheable('returns pluginData')
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw new Uncacheable(`returns '${unknown}'`)
  const entry = { pluginName, warnings, contents, resolveDir, loader, watchFiles, watchDirs }
  return { entry, watched: [...watchFiles, ...watchDirs] }
}

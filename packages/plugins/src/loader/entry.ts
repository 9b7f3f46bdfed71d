/** The entry of a chain of loaders, and the part of the loader context of webpack and Rspack that it repeats. */
import {
  either,
  exactly,
  isAbsolutePath,
  isBytes,
  isDictionary,
  isIndex,
  isPath,
  isText,
  listOf,
  nullable,
  objectOf,
  optional,
  type Shape,
  tupleOf,
  Uncacheable,
  withCheck,
} from '../build/pack.ts'
import { plainMap, sourceMap } from '../build/source-map.ts'
import { join } from 'node:path'
import { changedMsOf, COARSE_TICK_MS, disk } from '../host/files.ts'

export interface ChainLoader {
  readonly path: string
  readonly query: string
  readonly options?: unknown
}

/** A logger of webpack or Rspack. */
export interface Logger {
  warn(text: string): void
  info(text: string): void
}

/** The context that the loaders of a module share. */
export interface ChainContext {
  readonly resource: string
  readonly resourcePath: string
  readonly rootContext: string
  readonly mode?: string | undefined
  readonly target?: unknown
  readonly sourceMap?: boolean | undefined
  readonly hot?: boolean | undefined
  readonly loaders: readonly ChainLoader[]
  loaderIndex: number
  /** The file system of the tool; undefined in a process without one, such as that of thread-loader. */
  fs?: object | undefined
  /** An object of this loader, the same in pitch and normal. */
  readonly data: unknown
  getLogger(name: string): Logger
  addDependency(path: string): void
  addContextDependency(path: string): void
  addMissingDependency(path: string): void
  addBuildDependency(path: string): void
  getDependencies(): string[]
  getContextDependencies(): string[]
  getMissingDependencies?(): string[]
  emitFile(name: string, content: unknown, sourceMap?: unknown, assetInfo?: unknown): void
  emitWarning(warning: Error): void
}

export interface LoaderContext extends ChainContext {
  async(): LoaderCallback
  getOptions(): object
}

/** Completes a loader. */
export type LoaderCallback = (error: Error | null, content?: string | Buffer, map?: unknown, meta?: unknown) => void

/** The result of a chain for a module. */
export interface Result {
  readonly content: Uint8Array
  readonly map: unknown
  readonly meta: unknown
}

// The entry of a chain of loaders: its results, its dependencies, and its calls to the loader context, which a hit repeats. With a value
// of another shape, webpack, Rspack or a later loader would fail the build.

/** The stored result of a chain. */
export interface Entry extends Result {
  readonly dependencies: Dependencies
  readonly calls: readonly ContextCall[]
}

const paths = listOf(isAbsolutePath)
const dependencies = objectOf<Dependencies>({ files: paths, folders: paths, missing: paths })

/** No syntax tree, which webpack would use unchecked. */
const meta = withCheck(isDictionary, (fields) => !Object.hasOwn(fields, 'webpackAST'))

/** A call by one of `loaders` loaders. A warning has the index of its loader. */
const callOf = (loaders: number): Shape<ContextCall> =>
  either(
    objectOf({
      method: exactly('emitFile'),
      args: tupleOf<[string, string | Uint8Array, unknown, unknown]>(
        isPath,
        either(isText, isBytes),
        nullable(sourceMap),
        nullable(isDictionary),
      ),
    }),
    objectOf({
      method: exactly('emitWarning'),
      loaderIndex: withCheck(isIndex, (at) => at < loaders),
      message: isText,
      name: isText,
      stack: optional(isText),
    }),
    objectOf({ method: exactly('addBuildDependency'), path: isAbsolutePath }),
  )

/** The shape of the entry of a chain with this many loaders. */
export function entryShape(loaders: number): Shape<Entry> {
  return objectOf<Entry>({
    content: isBytes,
    map: nullable(sourceMap),
    meta: nullable(meta),
    dependencies,
    calls: listOf(callOf(loaders)),
  })
}

/** Limit of the files that a chain depends on. Checking more would cost more than the loaders. */
const FILES_MAX = 10_000

/** Time in which two writes may get the same timestamp: a tick of the system clock. */
const TICK_MS = 20

/** Absolute paths, by kind of dependency. */
export interface Dependencies {
  readonly files: readonly string[]
  readonly folders: readonly string[]
  readonly missing: readonly string[]
}

/** The dependencies that have been reported so far. */
export function dependenciesOf(context: ChainContext): Dependencies {
  return {
    files: [...new Set(context.getDependencies())].sort(),
    folders: [...new Set(context.getContextDependencies())].sort(),
    missing: [...new Set(context.getMissingDependencies?.() ?? [])].sort(),
  }
}

/** Reports dependencies again. */
export function addDependencies(context: ChainContext, { files, folders, missing }: Dependencies): void {
  for (const path of files) context.addDependency(path)
  for (const path of folders) context.addContextDependency(path)
  for (const path of missing) context.addMissingDependency(path)
}

/**
 * All files that the result depends on, including those below directories. Throws Uncacheable if one has changed since
 * `startMs`, because the loaders may have read its previous content.
 */
export function watchedBy({ files, folders, missing }: Dependencies, startMs: number): string[] {
  const watched = [...files, ...missing, ...folders.flatMap((folder) => [folder, ...pathsBelow(folder)])]
  if (watched.length > FILES_MAX) throw new Uncacheable('depends on folders with too many files')
  for (const path of watched) {
    if (isYoung(path, startMs)) throw new Uncacheable('depends on a file that changes')
  }
  return watched
}

/** Whether a file may have changed after `startMs`. */
function isYoung(path: string, startMs: number): boolean {
  const stats = disk.statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return false
  const tickMs = stats.ctimeMs % 1000 === 0 ? COARSE_TICK_MS : TICK_MS
  return changedMsOf(stats) > startMs - tickMs
}

function pathsBelow(folder: string): string[] {
  if (disk.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return []
  const entries = disk.readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return entries.map((entry) => join(folder, entry))
}

export type ContextCall =
  | { readonly method: 'emitFile'; readonly args: readonly unknown[] }
  | ({ readonly method: 'emitWarning'; readonly loaderIndex: number } & PlainError)
  | { readonly method: 'addBuildDependency'; readonly path: string }

interface PlainError {
  readonly message: string
  readonly name: string
  readonly stack?: string | undefined
}

/** Methods whose calls cannot be replayed. */
const REFUSED = ['emitError', 'loadModule', 'importModule']

/** The recorded calls of one module while its loaders run. */
export class Recording {
  #calls: ContextCall[] = []
  #reason: string | undefined

  /** The calls so far. Throws Uncacheable if they cannot be replayed. */
  get calls(): readonly ContextCall[] {
    if (this.#reason !== undefined) throw new Uncacheable(this.#reason)
    return this.#calls
  }

  /** The chain cannot be stored, for this reason. */
  refuse(reason: string): void {
    this.#reason ??= reason
  }

  /** Discards calls that were made before the chain began. */
  reset(): void {
    this.#calls = []
    this.#reason = undefined
  }

  /** Replaces the methods of a context by recording ones. */
  install(context: ChainContext): void {
    const record = (method: string, note: (args: readonly unknown[]) => void): void => {
      const original: unknown = Reflect.get(context, method)
      if (typeof original !== 'function' || Object.getOwnPropertyDescriptor(context, method)?.writable === false) return
      const recording = (...args: unknown[]): unknown => {
        note(args)
        return Reflect.apply(original, context, args)
      }
      // If the tool does not allow replacing a method, its calls are not recorded.
      Reflect.set(context, method, recording)
    }
    record('emitFile', ([name, content, map, info]) =>
      this.#calls.push({ method: 'emitFile', args: [name, content, plainMap(map), info] }),
    )
    record('emitWarning', ([warning]) =>
      this.#calls.push({ method: 'emitWarning', loaderIndex: context.loaderIndex, ...plainError(warning) }),
    )
    record('addBuildDependency', ([path]) => this.#calls.push({ method: 'addBuildDependency', path: String(path) }))
    record('cacheable', ([isCacheable]) => void (isCacheable === false && this.refuse('calls this.cacheable(false)')))
    for (const method of REFUSED) record(method, () => this.refuse(`uses this.${method}`))
  }
}

/** Repeats recorded calls on a context. */
export function replayCalls(context: ChainContext, calls: readonly ContextCall[]): void {
  const loaderIndex = context.loaderIndex
  for (const call of calls) {
    if (call.method === 'addBuildDependency') context.addBuildDependency(call.path)
    else if (call.method === 'emitFile') Reflect.apply(context.emitFile, context, call.args)
    else {
      // The tool attributes a warning to the current loader.
      context.loaderIndex = call.loaderIndex
      try {
        context.emitWarning(Object.assign(new Error(call.message), { name: call.name, stack: call.stack }))
      } finally {
        context.loaderIndex = loaderIndex
      }
    }
  }
}

function plainError(error: unknown): PlainError {
  if (!(error instanceof Error)) return { message: String(error), name: 'Warning', stack: undefined }
  const { message, name, stack } = error
  return { message, name, stack }
}

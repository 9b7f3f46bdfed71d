/** Records the calls of one module's loaders to their context, besides results and dependencies, so that they can be replayed. */
import { plainMap } from '../build/source-map.ts'
import { Uncacheable } from '../build/uncacheable.ts'
import type { ChainContext } from './context.ts'

/** One call to a method of the context. */
export type ContextCall =
  | { readonly method: 'emitFile'; readonly args: readonly unknown[] }
  | ({ readonly method: 'emitWarning'; readonly loaderIndex: number } & PlainError)
  | { readonly method: 'addBuildDependency'; readonly path: string }

/** An error as plain data. */
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

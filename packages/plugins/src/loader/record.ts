/** What the loaders of one module told their context, besides their result and dependencies: noted, to be told again. */
import { plainMap } from '../rollup/entry.ts'
import { Uncacheable } from '../build/uncacheable.ts'
import type { ChainContext } from './context.ts'

/** One call of a method. */
export type Told =
  | { readonly method: 'emitFile'; readonly args: readonly unknown[] }
  | ({ readonly method: 'emitWarning'; readonly loaderIndex: number } & PlainError)
  | { readonly method: 'addBuildDependency'; readonly path: string }

/** An error as plain data. */
interface PlainError {
  readonly message: string
  readonly name: string
  readonly stack?: string | undefined
}

/** Methods after which a chain cannot be told again. */
const REFUSED = ['emitError', 'loadModule', 'importModule']

/** What is noted of one module while its loaders run. */
export class Recording {
  #told: Told[] = []
  #reason: string | undefined

  /** Everything so far. Throws Uncacheable where it cannot be told again. */
  get told(): readonly Told[] {
    if (this.#reason !== undefined) throw new Uncacheable(this.#reason)
    return this.#told
  }

  /** Forgets what was told before the chain began. */
  forget(): void {
    this.#told = []
    this.#reason = undefined
  }

  /** Listens to the calls of a context. */
  install(context: ChainContext): void {
    const listen = (method: string, note: (args: readonly unknown[]) => void): void => {
      const original: unknown = Reflect.get(context, method)
      if (typeof original !== 'function' || Object.getOwnPropertyDescriptor(context, method)?.writable === false) return
      const heard = (...args: unknown[]): unknown => {
        note(args)
        return Reflect.apply(original, context, args)
      }
      // Where a tool forbids to replace a method, its calls are not heard.
      Reflect.set(context, method, heard)
    }
    listen('emitFile', ([name, content, map, info]) => this.#told.push({ method: 'emitFile', args: [name, content, plainMap(map), info] }))
    listen('emitWarning', ([warning]) => this.#told.push({ method: 'emitWarning', loaderIndex: context.loaderIndex, ...plainError(warning) }))
    listen('addBuildDependency', ([path]) => this.#told.push({ method: 'addBuildDependency', path: String(path) }))
    listen('cacheable', ([isCacheable]) => void (isCacheable === false && this.#refuse('says that it is not cacheable')))
    for (const method of REFUSED) listen(method, () => this.#refuse(`uses this.${method}`))
  }

  #refuse(reason: string): void {
    this.#reason ??= reason
  }
}

/** Tells a context again what was noted. */
export function tell(context: ChainContext, told: readonly Told[]): void {
  const loaderIndex = context.loaderIndex
  for (const one of told) {
    if (one.method === 'addBuildDependency') context.addBuildDependency(one.path)
    else if (one.method === 'emitFile') Reflect.apply(context.emitFile, context, one.args)
    else {
      // A warning names the loader that it comes from.
      context.loaderIndex = one.loaderIndex
      try {
        context.emitWarning(Object.assign(new Error(one.message), { name: one.name, stack: one.stack }))
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

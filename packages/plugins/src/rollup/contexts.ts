/**
 * The plugin contexts that hooks get: one for each context of the tool, because plugins keep state by context, and use the context of one
 * hook in another. The call that uses a context decides what its members do:
 *
 *   - in a call that is recorded, its recorder decides; the context of another call makes the call uncacheable
 *   - in a call that is not cached, a member is the tool's own, and what a method reads does not count as a read of the plugin
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { recordedFiles } from 'varve/reads'
import { runForeign } from '../host/files.ts'

/** Members that depend only on their arguments, the tool's version and its config. */
const COVERED: ReadonlySet<PropertyKey> = new Set(['meta', 'environment', 'error', 'parse'])

/** Members of an environment of Vite that depend only on its config. */
const COVERED_OF_ENVIRONMENT: ReadonlySet<string> = new Set([
  'name',
  'mode',
  'config',
  'plugins',
  'getTopLevelConfig',
  'constructor',
])

/** A call that is being recorded. */
export interface Recorder {
  /** The tool's own context of the call. */
  readonly original: object
  /** Replaces a method of the context; undefined for other members. */
  method(name: PropertyKey): unknown
  /** Makes the call uncacheable. */
  refuse(reason: string): void
}

/** The call that runs now. Of two caches around one plugin, the outer one records what the inner one does. */
interface Running {
  readonly recorder: Recorder
  readonly outer: Running | undefined
}

const current: AsyncLocalStorage<Running | undefined> = new AsyncLocalStorage()
const proxies: WeakSet<object> = new WeakSet()
const contexts: WeakMap<object, Context> = new WeakMap()
const environments: WeakSet<object> = new WeakSet()
let recording = 0

/** Runs the work of a call with the context that records it. */
export async function runRecorded<T>(recorder: Recorder, work: (context: object) => T): Promise<Awaited<T>> {
  const { original } = recorder
  const context = contextOf(original)
  watchEnvironment(Reflect.get(original, 'environment'))
  context.recorders.add(recorder)
  recording += 1
  try {
    return await current.run({ recorder, outer: current.getStore() }, () => work(context.proxy))
  } finally {
    context.recorders.delete(recorder)
    recording -= 1
    // Before Node.js 24 every await of the process takes longer while a storage is in use.
    if (recording === 0) current.disable()
  }
}

/** The context of a hook whose call is not cached. Vite 5 calls hooks for its config without one. */
export function uncachedContext(original: object): object {
  if (typeof original !== 'object' || original === null) return original
  const context = contextOf(original)
  context.isShared = true
  return context.proxy
}

/** Runs a method of the tool. What it reads and uses is not that of the plugin. */
export function runOfTool<T>(work: () => T): T {
  return runForeign(() => outsideOfCall(work))
}

function outsideOfCall<T>(work: () => T): T {
  const running = current.getStore()
  return running === undefined ? work() : current.run(running.outer, work)
}

function contextOf(original: object): Context {
  const known = contexts.get(original)
  if (known !== undefined) return known
  const made = new Context(original)
  contexts.set(original, made)
  proxies.add(made.proxy)
  return made
}

class Context implements ProxyHandler<object> {
  readonly proxy: object
  /** The calls with this context that are being recorded. */
  readonly recorders: Set<Recorder> = new Set()
  /** Whether calls that are not cached have it, too. */
  isShared = false
  readonly #original: object
  /** Whether the original is a context of an outer cache. */
  readonly #isInner: boolean

  constructor(original: object) {
    this.#original = original
    this.#isInner = proxies.has(original)
    this.proxy = new Proxy(Object.create(null), this)
  }

  get(_: object, name: PropertyKey): unknown {
    const value: unknown = this.#isInner
      ? outsideOfCall(() => Reflect.get(this.#original, name))
      : Reflect.get(this.#original, name)
    const recorder = this.#recorderFor(
      `uses this.${String(name)} of another call`,
      value === undefined || isCovered(name),
    )
    const method = value === undefined ? undefined : recorder?.method(name)
    if (method !== undefined) return method
    if (value !== undefined && !isCovered(name)) recorder?.refuse(`uses this.${String(name)}`)
    // The tool may have taken its functions out of `node:fs` before the recorder was installed.
    if (name === 'fs' && typeof value === 'object' && value !== null) return recordedFiles(value)
    return typeof value === 'function' ? methodOfTool(value, this.#original) : value
  }

  set(_: object, name: PropertyKey, value: unknown): boolean {
    this.#recorderFor(`sets this.${String(name)} of another call`)?.refuse(`sets this.${String(name)}`)
    return Reflect.set(this.#original, name, value)
  }

  has(_: object, name: PropertyKey): boolean {
    return Reflect.has(this.#original, name)
  }

  ownKeys(): (string | symbol)[] {
    return Reflect.ownKeys(this.#original)
  }

  /** A property of the context's own, so that a copy of the context, such as `{ ...this }`, has it. */
  getOwnPropertyDescriptor(_: object, name: PropertyKey): PropertyDescriptor | undefined {
    const { enumerable } = Reflect.getOwnPropertyDescriptor(this.#original, name) ?? {}
    return enumerable === undefined ? undefined : { enumerable, configurable: true, get: () => this.get(_, name) }
  }

  /** The recorder of the call that uses this context now. Refuses a recorded call that has another context. */
  #recorderFor(reason: string, isAllowed = false): Recorder | undefined {
    const running = current.getStore()?.recorder
    if (running?.original === this.#original) return running
    if (!isAllowed && !this.#isInner) running?.refuse(reason)
    // A callback of native code does not know its call, but only one can have this context.
    return this.isShared || this.recorders.size !== 1 ? undefined : [...this.recorders][0]
  }
}

function isCovered(name: PropertyKey): boolean {
  return typeof name === 'symbol' || COVERED.has(name)
}

function methodOfTool(method: Function, original: object): (...args: unknown[]) => unknown {
  return (...args) => runOfTool((): unknown => Reflect.apply(method, original, args))
}

/**
 * Detects what recorded calls do with an environment of Vite: they log with it, look up modules and send messages. Plugins keep state by
 * environment and compare it, so its members become accessors, and the environment stays the same object.
 */
function watchEnvironment(environment: unknown): void {
  if (typeof environment !== 'object' || environment === null || environments.has(environment)) return
  environments.add(environment)
  for (
    let from: object | null = environment;
    from !== null && from !== Object.prototype;
    from = Reflect.getPrototypeOf(from)
  ) {
    for (const name of Object.getOwnPropertyNames(from)) {
      if (
        !COVERED_OF_ENVIRONMENT.has(name) &&
        !name.startsWith('_') &&
        (from === environment || !Object.hasOwn(environment, name))
      ) {
        watchMember(environment, name, from)
      }
    }
  }
}

function watchMember(environment: object, name: string, from: object): void {
  const { value, get, set, enumerable = false } = Reflect.getOwnPropertyDescriptor(from, name) ?? {}
  let now: unknown = value
  Reflect.defineProperty(environment, name, {
    configurable: true,
    enumerable: enumerable && from === environment,
    get: () => {
      current.getStore()?.recorder.refuse(`uses this.environment.${name}`)
      return get === undefined ? now : Reflect.apply(get, environment, [])
    },
    set: (given: unknown) => {
      if (set === undefined) now = given
      else Reflect.apply(set, environment, [given])
    },
  })
}

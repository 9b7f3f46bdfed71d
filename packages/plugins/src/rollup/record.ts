/**
 * The plugin context that a hook gets while its call is recorded. It passes all calls on to the tool's own context:
 *
 *   - calls that can be replayed are recorded
 *   - reads of what the key already covers are not
 *   - any other use, including members that tools may add in the future, makes the call uncacheable
 */
import { unrecorded } from 'varve/reads'
import { Uncacheable } from '../build/uncacheable.ts'
import { plainMap } from '../build/source-map.ts'
import { type ContextCall, type Entry, type LogMethod, plainLog, plainReturned } from './entry.ts'

/** Members that depend only on their arguments, the tool's version and its config. */
const COVERED: ReadonlySet<PropertyKey> = new Set(['meta', 'environment', 'error', 'parse'])

/** A recording of one call. */
export class Recording {
  /** The `this` of the hook. */
  readonly context: object
  readonly #calls: ContextCall[] = []
  #reason: string | undefined
  #isOver = false

  constructor(original: object) {
    const methods: ReadonlyMap<PropertyKey, unknown> = new Map(Object.entries(this.#methods(original)))
    this.context = new Proxy(Object.create(null), {
      get: (_, name) => {
        const method = methods.get(name)
        if (method !== undefined && Reflect.has(original, name)) return method
        const value: unknown = Reflect.get(original, name)
        if (!COVERED.has(name) && typeof name === 'string' && value !== undefined) this.#refuse(`uses this.${name}`)
        return typeof value === 'function' ? unrecordedMethod(value, original) : value
      },
      set: (_, name, value) => {
        this.#refuse(`sets this.${String(name)}`)
        return Reflect.set(original, name, value)
      },
      has: (_, name) => Reflect.has(original, name),
      ownKeys: () => Reflect.ownKeys(original),
      getOwnPropertyDescriptor: (_, name) => ownProperty(original, name, () => Reflect.get(this.context, name)),
    })
  }

  /** The files that the hook asked the tool to watch. */
  get watched(): string[] {
    return this.#calls.flatMap((call) => (call.method === 'addWatchFile' ? [call.path] : []))
  }

  /** The entry of a call that returned `returned`. Throws Uncacheable if the call cannot be cached. */
  finish(returned: unknown): Entry {
    this.#isOver = true
    if (this.#reason !== undefined) throw new Uncacheable(this.#reason)
    return { returned: plainReturned(returned), calls: this.#calls }
  }

  #refuse(reason: string): void {
    this.#reason ??= reason
  }

  /** Records a call, unless the hook has returned: work that the hook did not await is not part of its result. */
  #note(call: ContextCall): void {
    if (!this.#isOver) this.#calls.push(call)
  }

  #methods(original: object): Record<ContextCall['method'], (...args: never[]) => unknown> {
    const pass = (name: string, args: readonly unknown[]): unknown =>
      unrecorded(() => Reflect.apply(Reflect.get(original, name), original, args))
    const log = (method: LogMethod) => (given: unknown, position?: unknown): unknown => {
      const note = (plain: unknown): void => this.#note({ method, log: plain, position })
      if (typeof given !== 'function') {
        note(copyOf(plainLog(given)))
        return pass(method, [given, position])
      }
      const lazy = (): unknown => {
        const made: unknown = given()
        note(copyOf(plainLog(made)))
        return made
      }
      return pass(method, [lazy, position])
    }
    return {
      addWatchFile: (path: string) => {
        this.#note({ method: 'addWatchFile', path })
        return pass('addWatchFile', [path])
      },
      emitFile: (file: object) => {
        const referenceId = String(pass('emitFile', [file]))
        if (isWithoutSource(file)) this.#refuse('emits an asset without a source')
        this.#note({ method: 'emitFile', file: 'map' in file ? { ...file, map: plainMap(file.map) } : { ...file }, referenceId })
        return referenceId
      },
      warn: log('warn'),
      info: log('info'),
      debug: log('debug'),
    }
  }
}

/** The context of a hook whose call is not cached. Reads by the tool's own methods do not count as reads of the plugin. */
export function unrecordedContext(original: object): object {
  return new Proxy(NOTHING, new Unrecorded(original))
}

const NOTHING: object = Object.create(null)

/** Calls of such hooks are many, so a context has no functions of its own. */
class Unrecorded implements ProxyHandler<object> {
  readonly #original: object

  constructor(original: object) {
    this.#original = original
  }

  get(_: object, name: PropertyKey): unknown {
    const value: unknown = Reflect.get(this.#original, name)
    return typeof value === 'function' ? unrecordedMethod(value, this.#original) : value
  }

  set(_: object, name: PropertyKey, value: unknown): boolean {
    return Reflect.set(this.#original, name, value)
  }

  has(_: object, name: PropertyKey): boolean {
    return Reflect.has(this.#original, name)
  }

  ownKeys(): (string | symbol)[] {
    return Reflect.ownKeys(this.#original)
  }

  getOwnPropertyDescriptor(_: object, name: PropertyKey): PropertyDescriptor | undefined {
    return ownProperty(this.#original, name, () => this.get(_, name))
  }
}

/** A property of a context's own, so that a copy of the context, such as `{ ...this }`, has it. */
function ownProperty(original: object, name: PropertyKey, get: () => unknown): PropertyDescriptor | undefined {
  const { enumerable } = Reflect.getOwnPropertyDescriptor(original, name) ?? {}
  return enumerable === undefined ? undefined : { enumerable, configurable: true, get }
}

function unrecordedMethod(method: Function, original: object): (...args: unknown[]) => unknown {
  return (...args) => unrecorded((): unknown => Reflect.apply(method, original, args))
}

function isWithoutSource(file: object): boolean {
  return 'type' in file && file.type === 'asset' && (!('source' in file) || file.source === undefined)
}

/** A copy of a message, because tools modify the messages that they get. */
function copyOf(log: unknown): unknown {
  return typeof log === 'object' && log !== null ? { ...log } : log
}

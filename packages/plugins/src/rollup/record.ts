/**
 * The plugin context that a hook gets while its call is recorded. What can be told again is noted and passed on; what
 * only reads what the key already covers is passed on; anything else, also what tools will have one day, makes the call
 * uncacheable and is passed on.
 */
import { unrecorded } from 'varve/reads'
import { Uncacheable } from '../build/uncacheable.ts'
import { type LogMethod, plainLog, plainMap, plainReturned, type Entry, type Told } from './entry.ts'

/** Depend on nothing but their arguments, the tool's version and its config. */
const COVERED: ReadonlySet<PropertyKey> = new Set(['meta', 'environment', 'error', 'parse'])

/** A recording of one call. */
export class Recording {
  /** What the hook gets as `this`. */
  readonly context: object
  readonly #told: Told[] = []
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
    })
  }

  /** The files that the hook told to watch. */
  get watched(): string[] {
    return this.#told.flatMap((one) => (one.method === 'addWatchFile' ? [one.path] : []))
  }

  /** The entry of a call that returned `returned`. Throws Uncacheable where there can be none. */
  finish(returned: unknown): Entry {
    this.#isOver = true
    if (this.#reason !== undefined) throw new Uncacheable(this.#reason)
    return { returned: plainReturned(returned), told: this.#told }
  }

  #refuse(reason: string): void {
    this.#reason ??= reason
  }

  /** Later calls, by work that the hook did not wait for, are only passed on: a repeated call will not make them. */
  #note(told: Told): void {
    if (!this.#isOver) this.#told.push(told)
  }

  #methods(original: object): Record<Told['method'], (...args: never[]) => unknown> {
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
        if (isWithoutSource(file)) this.#refuse('emits an asset whose source comes later')
        this.#note({ method: 'emitFile', file: 'map' in file ? { ...file, map: plainMap(file.map) } : { ...file }, referenceId })
        return referenceId
      },
      warn: log('warn'),
      info: log('info'),
      debug: log('debug'),
    }
  }
}

/** The context of a hook whose call is not kept: what the tool does when the hook asks it is no read of the plugin. */
export function besideContext(original: object): object {
  return new Proxy(Object.create(null), {
    get(_, name) {
      const value: unknown = Reflect.get(original, name)
      return typeof value === 'function' ? unrecordedMethod(value, original) : value
    },
    set: (_, name, value) => Reflect.set(original, name, value),
    has: (_, name) => Reflect.has(original, name),
  })
}

function unrecordedMethod(method: Function, original: object): (...args: unknown[]) => unknown {
  return (...args) => unrecorded((): unknown => Reflect.apply(method, original, args))
}

function isWithoutSource(file: object): boolean {
  return 'type' in file && file.type === 'asset' && (!('source' in file) || file.source === undefined)
}

/** Tools write into the messages they get. */
function copyOf(log: unknown): unknown {
  return typeof log === 'object' && log !== null ? { ...log } : log
}

/**
 * Native addons. What one reads cannot be seen, so it counts for the work that loads it, and for all work that calls it later:
 *
 *   loaded by recorded work       that work is reported
 *   loaded outside of it          nothing is reported yet, and its functions and classes report recorded work that calls them
 *   cannot be watched in this way, or was loaded before the recorder, whose functions others may have taken
 *                                 it counts for all work, unless the program loaded it for itself: its own package, or a module
 *                                 that Node.js loads before the program
 */
import { builtin } from '../host/builtin.ts'
import { variable } from '../host/permission.ts'
import { loaderOfHost } from './resolution.ts'
import { hiddenReads, callerAbove, packageOf } from './known.ts'
import { type Installation, type Opaque, isCallable, type Note, replace, wrapWith } from './sink.ts'

/** Objects in exports are looked at down to this depth. */
const DEPTH_MAX = 3

/** Modules that required one another, of which more is not looked at. */
const PARENTS_MAX = 1000

type Callable = (...args: unknown[]) => unknown

/** A module as the loader keeps it. */
interface Loaded {
  readonly id?: unknown
  readonly filename?: unknown
  readonly parent?: unknown
}

/** Watches addons that are loaded from now on, and reports to the ambient sink those loaded before that any work may call. */
export function installAddons(installation: Installation): void {
  const note: Note = (sink, [module, path]) => {
    const event: Opaque = { kind: 'addon', what: String(path), by: callerAbove(note) }
    if (sink !== installation.ambient) sink.opaque(event)
    return (result) => {
      if (!isObject(module) || !watch(installation, module, event)) installation.ambient?.opaque(event)
      return result
    }
  }
  replace(installation, globalThis.process, 'dlopen', note)
}

/** Addons that were loaded before the recorder, as events. */
export function loadedAddons(installation: Installation): Opaque[] {
  const { _cache: loaded = {} } = loaderOfHost() ?? {}
  return Object.entries(loaded).flatMap(([path, module]) => {
    if (!path.endsWith('.node') || module === undefined) return []
    const modules = modulesAbove(module)
    const event: Opaque = { kind: 'addon', what: path, by: modules[0] }
    return isOfProgram(modules) && watch(installation, module, event) ? [] : [event]
  })
}

/** Puts wrappers in the place of what an addon exports. Returns whether all calls of recorded work are seen from now on. */
function watch(installation: Installation, module: object, event: Opaque): boolean {
  if (installation.addons.has(event.what) || hiddenReads(event, '') === undefined) return true
  const watching = new Watching(installation, { ...event, isCall: true })
  const exported: unknown = Reflect.get(module, 'exports')
  const isWatched = isCallable(exported)
    ? Reflect.set(module, 'exports', watching.wrapperOf(exported)) && watching.isWhole
    : watching.watchIn(exported)
  if (isWatched) installation.addons.add(event.what)
  return isWatched
}

/** The wrappers of one addon. */
class Watching {
  readonly #installation: Installation
  readonly #call: Opaque
  readonly #wrappers: Map<Callable, Callable> = new Map()
  /** Nothing was found whose calls would not be seen. */
  isWhole = true

  constructor(installation: Installation, call: Opaque) {
    this.#installation = installation
    this.#call = call
  }

  /** Wraps the functions in an object. Returns whether that was possible for all. */
  watchIn(target: unknown, depth = 0): boolean {
    if (!isObject(target)) return this.isWhole
    for (const key of Reflect.ownKeys(target)) this.#watchProperty(target, key, depth)
    return this.isWhole
  }

  /** The functions of a class are properties of its wrapper. The prototype is shared, so instances stay what they are. */
  wrapperOf(original: Callable): Callable {
    const known = this.#wrappers.get(original)
    if (known !== undefined) return known
    this.#wrappers.set(original, original) // of a function that has itself among its properties
    const note: Note = (sink) => {
      if (sink === this.#installation.ambient) return (result) => this.#given(result)
      return sink.opaque(this.#call)
    }
    const wrapper = wrapWith(this.#installation, original, note, (_, own) => this.wrapperOf(own))
    this.#wrappers.set(original, wrapper).set(wrapper, wrapper)
    this.watchIn(original.prototype, 1)
    return wrapper
  }

  #watchProperty(target: object, key: string | symbol, depth: number): void {
    const property = Object.getOwnPropertyDescriptor(target, key)
    if (property === undefined) return
    const { value, get, set, configurable = false, writable = false } = property
    if (isCallable(get) || isCallable(set)) {
      if (!configurable) this.isWhole = false
      else
        Object.defineProperty(target, key, {
          ...property,
          ...(isCallable(get) ? { get: this.wrapperOf(get) } : {}),
          ...(isCallable(set) ? { set: this.wrapperOf(set) } : {}),
        })
    } else if (isCallable(value)) {
      if (!configurable && !writable) this.isWhole = false
      else Object.defineProperty(target, key, { ...property, value: this.wrapperOf(value) })
    } else if (isObject(value)) {
      if (depth < DEPTH_MAX && isPlain(value)) this.watchIn(value, depth + 1)
      else if (!ArrayBuffer.isView(value)) this.isWhole = false
    }
  }

  /** What a call outside of recorded work gave: functions in it, which work may call later, would not be seen. */
  #given(result: unknown): unknown {
    const hasFunctions = isCallable(result)
      ? !this.#wrappers.has(result)
      : isObject(result) && isPlain(result) && Object.values(result).some((value) => isCallable(value))
    if (hasFunctions) this.#installation.ambient?.opaque(this.#call)
    return result
  }
}

/** The paths of the modules that loaded an addon: the first one required it, the next required that one. */
function modulesAbove(addon: object): string[] {
  const { process } = globalThis
  const { noDeprecation } = process
  const paths: string[] = []
  try {
    process.noDeprecation = true // with `--pending-deprecation`, to ask for the parent of a module prints a warning
    for (let at: unknown = Reflect.get(addon, 'parent'); isModule(at) && paths.length < PARENTS_MAX; at = at.parent)
      paths.push(typeof at.filename === 'string' ? at.filename : String(at.id))
    return paths
  } finally {
    Reflect.set(process, 'noDeprecation', noDeprecation)
  }
}

function isOfProgram(modules: readonly string[]): boolean {
  const [last] = modules.slice(-1)
  if (last === undefined) return false
  if (last === 'internal/preload' || isPreloaded(last)) return true
  const program = packageOf(programPath())?.name
  return program !== undefined && modules.every((path) => packageOf(path)?.name === program)
}

function programPath(): string {
  const [, program = ''] = globalThis.process.argv
  try {
    return builtin('node:fs')?.realpathSync(program) ?? program
  } catch {
    return program
  }
}

/** Whether an option of Node.js loads a module before the program. */
function isPreloaded(path: string): boolean {
  const paths = builtin('node:path')
  const { execArgv } = globalThis.process
  const options = [...execArgv, ...(variable('NODE_OPTIONS') ?? '').split(/\s+/)]
  const values = options.flatMap((option) => option.replace(/^--?(?:require|import|r)=/, '').replace(/^file:\/\//, ''))
  return values.some((value) => value !== '' && (paths?.resolve(value) === path || packageOf(path)?.name === value))
}

function isModule(value: unknown): value is Loaded {
  return isObject(value)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Whether an object has no class, and so no methods besides its own properties. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Array.isArray(value)
}

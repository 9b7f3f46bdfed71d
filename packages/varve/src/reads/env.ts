/**
 * Reads of the environment. `process.env` is an accessor: code that is recorded gets a proxy of the environment, other code the
 * environment itself, which can be cloned and compared. `import { env } from 'node:process'` gets the environment that
 * it has anyway: a binding of a module has one value for all code.
 */
import { builtin } from '../host/builtin.ts'
import { markOwn, ownOf } from '../host/own.ts'
import { type Installation, isCallable, type Sink, sinkNow, unseen } from './sink.ts'
import { isOfTerminal } from '../inputs/variables.ts'
import { linesAbove, packageIn } from './known.ts'

type Environments = WeakMap<NodeJS.ProcessEnv, NodeJS.ProcessEnv>

/** Makes `process.env` an accessor, in front of that of a recorder of another shape. Does nothing if it cannot be changed. */
export function installEnv(installation: Installation): void {
  const host = globalThis.process
  const property = Object.getOwnPropertyDescriptor(host, 'env')
  if (property?.configurable !== true || (property.get === undefined && property.writable !== true)) return
  let own: NodeJS.ProcessEnv = host.env
  const { get: inner, set: assign } = property
  const current = (): NodeJS.ProcessEnv => (inner === undefined ? own : Reflect.apply(inner, host, []))
  const [proxies, targets]: [Environments, Environments] = [new WeakMap(), new WeakMap()]
  const proxyOf = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
    const proxy = proxies.get(env) ?? recording(installation, env)
    proxies.set(env, proxy)
    targets.set(proxy, env)
    return proxy
  }
  const get = (): NodeJS.ProcessEnv =>
    installation.unrecorded === 0 && installation.storage.getStore() ? proxyOf(current()) : current()
  const past = inner === undefined ? undefined : ownOf(inner)
  markOwn(get, isCallable(past) ? () => Reflect.apply(past, host, []) : current)
  const set = (given: NodeJS.ProcessEnv): void => {
    const env = targets.get(given) ?? given
    if (inner === undefined) own = env
    else if (assign !== undefined) Reflect.apply(assign, host, [env])
  }
  Object.defineProperty(host, 'env', { configurable: true, enumerable: property.enumerable ?? true, get, set })
  installation.undo.push(() => {
    if (Object.getOwnPropertyDescriptor(host, 'env')?.get !== get) return
    Object.defineProperty(host, 'env', inner === undefined ? { ...property, value: own } : property)
  })
}

/** The environment, with a note of each read in the sink of the code that reads. */
function recording(installation: Installation, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  let listing: Listing | undefined
  const tell = (name: string | symbol, note: (sink: Sink, name: string) => void): void => {
    const sink = typeof name === 'string' ? sinkNow(installation) : undefined
    if (sink !== undefined) unseen(installation, () => note(sink, String(name)))
  }
  const noteRead = (sink: Sink, name: string): void => sink.variable(name, false)
  const noteChange = (sink: Sink, name: string): void => sink.changedVariable(name)
  const ownKeys = (target: NodeJS.ProcessEnv): (string | symbol)[] => {
    const names = Reflect.ownKeys(target)
    const sink = sinkNow(installation)
    if (sink !== undefined) listing = unseen(installation, () => new Listing(sink, names, ownKeys))
    return names
  }
  return new Proxy(env, {
    ownKeys,
    get(target, name) {
      tell(name, (sink, text) => (listing === undefined ? noteRead(sink, text) : listing.read(sink, text)))
      return Reflect.get(target, name)
    },
    has(target, name) {
      tell(name, noteRead)
      return Reflect.has(target, name)
    },
    getOwnPropertyDescriptor(target, name) {
      tell(name, (sink, text) => {
        if (listing?.describes(sink, text) !== true) noteRead(sink, text)
      })
      return Reflect.getOwnPropertyDescriptor(target, name)
    },
    set(target, name, value) {
      tell(name, noteChange)
      return Reflect.set(target, name, value)
    },
    deleteProperty(target, name) {
      tell(name, noteChange)
      return Reflect.deleteProperty(target, name)
    },
  })
}

/** Gives ES modules the wrapped functions: their named imports of built-in modules follow. */
export function syncNamedImports(): void {
  builtin('node:module')?.syncBuiltinESMExports()
}

/**
 * Code that goes through all variables of the environment. A proxy is asked the same for each way to do that, in this order:
 *
 *   Object.keys, for-in                     the names, the property of each
 *   {...env}, Object.entries, .assign       the names, then for each its property and right after it its value
 *   JSON.stringify, a loop over the names   the names, perhaps the property of each, then the value of each
 *   Object.getOwnPropertyDescriptors        the names, the property of each, which has its value
 *
 * To ask for names reads names. A value that is asked for as part of a listing is read, too, but code that lists has not named
 * the variable: those of terminals do not count then. Only the stack shows who lists, and whether by `getOwnPropertyDescriptors`.
 */

/** Packages that look for names with a prefix, in whatever case. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['debug', 'DEBUG_'],
  ['obug', 'DEBUG_'],
  ['react-scripts', 'REACT_APP_'],
  ['@vue/cli-service', 'VUE_APP_'],
  ['@expo/env', 'EXPO_PUBLIC_'],
  ['path-key', 'PATH'],
])

/** Packages that give all variables to a process and look at none. What processes read cannot be seen anyway. */
const STARTERS =
  /^(?:cross-spawn|execa|foreground-child|jest-worker|nano-spawn|npm-run-path|tinyexec|tinypool|worker-farm|workerpool)$/
const STARTER_OF_NODE = /\bnode:(?:internal\/)?child_process:/

/** How the value of a variable was asked for: right after its property, or in a row with those before it. */
type Place = 'pair' | 'row'

/** One pass through all variables. */
export class Listing {
  readonly #sink: Sink
  readonly #names: readonly (string | symbol)[]
  /** The values go to a process. */
  readonly #isForProcess: boolean
  /** Number of names whose property was asked for, in order. */
  #described = 0
  /** Number of names whose value was asked for, in order; all of them once another value came between. */
  #taken = 0
  #hasPairs = false

  /** `above`: the function that was called for the names. Reports to the sink what the listing alone reads. */
  constructor(sink: Sink, names: readonly (string | symbol)[], above: (...args: never[]) => unknown) {
    const [first = '', second = ''] = linesAbove(above)
    const isBuiltin = first.includes('(<anonymous>)')
    const caller = isBuiltin ? second : first
    const lister = packageIn(caller) ?? ''
    this.#sink = sink
    this.#names = names
    this.#isForProcess = STARTER_OF_NODE.test(caller) || STARTERS.test(lister)
    if (this.#isForProcess) return
    sink.variables(PREFIXES.get(lister) ?? '')
    if (isBuiltin && first.includes('getOwnPropertyDescriptors'))
      for (const name of names) if (typeof name === 'string') sink.variable(name, true)
  }

  /** The property of a variable is asked for. Returns whether the listing does so, which reads nothing but names. */
  describes(sink: Sink, name: string | symbol): boolean {
    if (sink !== this.#sink || this.#names[this.#described] !== name) return false
    this.#described += 1
    return true
  }

  /** The value of a variable is asked for. */
  read(sink: Sink, name: string): void {
    const place = sink === this.#sink ? this.#placeOf(name) : undefined
    if (place !== undefined && this.#isForProcess) return
    sink.variable(name, place === 'pair' || (place === 'row' && isOfTerminal(name)))
  }

  /** Code that names the variable may do so right after a listing: that value belongs to it only if those before it do. */
  #placeOf(name: string): Place | undefined {
    const { length } = this.#names
    const isPair = this.#names[this.#described - 1] === name && (this.#described < length || this.#hasPairs)
    const isInRow = this.#names[this.#taken] === name && (this.#described === length || this.#described === 0)
    this.#hasPairs ||= isPair
    this.#taken = isInRow ? this.#taken + 1 : length
    if (isPair) return 'pair'
    return isInRow && (this.#taken > 1 || this.#isForProcess) ? 'row' : undefined
  }
}

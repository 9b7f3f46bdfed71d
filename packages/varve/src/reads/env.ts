/**
 * Reads of the environment. `process.env` is an accessor: code that is recorded gets a proxy of the environment, other code the
 * environment itself, which can be cloned and compared. `import { env } from 'node:process'` gets the environment that
 * it has anyway: a binding of a module has one value for all code.
 */
import { builtin } from '../host/builtin.ts'
import { markOwn } from '../host/own.ts'
import { Listing } from './listing.ts'
import type { Installation } from './sink.ts'

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
  markOwn(get, current)
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
  const note = (name: string | symbol): void => {
    if (typeof name === 'string') installation.storage.getStore()?.variable(name, false)
  }
  const noteChange = (name: string | symbol): void => {
    if (typeof name === 'string') installation.storage.getStore()?.changedVariable(name)
  }
  const ownKeys = (target: NodeJS.ProcessEnv): (string | symbol)[] => {
    const names = Reflect.ownKeys(target)
    const sink = installation.storage.getStore()
    if (sink) listing = new Listing(sink, names, ownKeys)
    return names
  }
  return new Proxy(env, {
    ownKeys,
    get(target, name) {
      const sink = installation.storage.getStore()
      if (sink && typeof name === 'string' && listing !== undefined) listing.read(sink, name)
      else note(name)
      return Reflect.get(target, name)
    },
    has(target, name) {
      note(name)
      return Reflect.has(target, name)
    },
    getOwnPropertyDescriptor(target, name) {
      const sink = installation.storage.getStore()
      const isListed = sink && listing?.describes(sink, name)
      if (isListed !== true) note(name)
      return Reflect.getOwnPropertyDescriptor(target, name)
    },
    set(target, name, value) {
      noteChange(name)
      return Reflect.set(target, name, value)
    },
    deleteProperty(target, name) {
      noteChange(name)
      return Reflect.deleteProperty(target, name)
    },
  })
}

/** Gives ES modules the wrapped functions: their named imports of built-in modules follow. */
export function syncNamedImports(): void {
  builtin('node:module')?.syncBuiltinESMExports()
}

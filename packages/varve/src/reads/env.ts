/**
 * Reads of the environment. `process.env` is an accessor: code that is recorded gets a proxy of the environment, other code the
 * environment itself, which can be cloned and compared. `import { env } from 'node:process'` gets the environment that
 * it has anyway: a binding of a module has one value for all code.
 */
import { builtin } from '../host/builtin.ts'
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
  // Going through all variables asks for their names, then for the property of each right before its value.
  let listing: readonly (string | symbol)[] = []
  let place = 0
  let listed: string | symbol | undefined
  const note = (name: string | symbol, isListed: boolean): void => {
    if (typeof name === 'string') installation.storage.getStore()?.variable(name, isListed)
  }
  const noteChange = (name: string | symbol): void => {
    if (typeof name === 'string') installation.storage.getStore()?.changedVariable(name)
  }
  return new Proxy(env, {
    get(target, name) {
      note(name, listed === name)
      listed = undefined
      return Reflect.get(target, name)
    },
    has(target, name) {
      note(name, false)
      return Reflect.has(target, name)
    },
    getOwnPropertyDescriptor(target, name) {
      listed = listing[place] === name ? name : undefined
      if (listed !== undefined) place += 1
      note(name, listed !== undefined)
      return Reflect.getOwnPropertyDescriptor(target, name)
    },
    ownKeys(target) {
      installation.storage.getStore()?.variables()
      const names = Reflect.ownKeys(target)
      listing = names
      place = 0
      return names
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

/**
 * Reads of the environment. `process.env` is an accessor: code that is recorded gets a proxy of the environment, other code the
 * environment itself, which can be cloned and compared. `import { env } from 'node:process'` gets the environment that
 * it has anyway: a binding of a module has one value for all code.
 */
import { builtin } from '../host/builtin.ts'
import type { Installation } from './sink.ts'

/** Makes `process.env` an accessor. Does nothing if it is one already, or cannot be changed. */
export function installEnv(installation: Installation): void {
  const host = globalThis.process
  const property = Object.getOwnPropertyDescriptor(host, 'env')
  if (property?.configurable !== true || property.writable !== true) return
  let env: NodeJS.ProcessEnv = host.env
  let proxy = recording(installation, env)
  Object.defineProperty(host, 'env', {
    configurable: true,
    enumerable: property.enumerable ?? true,
    get: () => (installation.unrecorded === 0 && installation.storage.getStore() ? proxy : env),
    set: (value: NodeJS.ProcessEnv) => {
      if (value === proxy || value === env) return
      env = value
      proxy = recording(installation, env)
    },
  })
  installation.undo.push(() => Object.defineProperty(host, 'env', { ...property, value: env }))
}

/** The environment, with a note of each read in the sink of the code that reads. */
function recording(installation: Installation, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // Going through all variables asks for the property of each right before its value.
  let listed: string | symbol | undefined
  const note = (name: string | symbol, isListed: boolean): void => {
    if (typeof name === 'string') installation.storage.getStore()?.variable(name, isListed)
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
      listed = name
      note(name, true)
      return Reflect.getOwnPropertyDescriptor(target, name)
    },
    ownKeys(target) {
      installation.storage.getStore()?.variables()
      return Reflect.ownKeys(target)
    },
  })
}

/** Gives ES modules the wrapped functions: their named imports of built-in modules follow. */
export function syncNamedImports(): void {
  builtin('node:module')?.syncBuiltinESMExports()
}

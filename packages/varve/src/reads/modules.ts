/** CommonJS modules that code loads while it is recorded: every `require`, also of a module that is loaded already. */
import { builtin, hostModule } from '../host/builtin.ts'
import { installClone } from './fs.ts'
import { type Loader, loaderOfHost, noteLoad } from './loaded.ts'
import { installLoaded } from './opaque.ts'
import { fileOf, isInPackage, type ModuleRequest, noteResolution } from './resolution.ts'
import type { Installation, Sink } from './sink.ts'
import { originalOf, replace } from './wrapper.ts'

/** Larger objects are tables of data. `node:fs` has about 120 names. */
const NAMES_MAX = 200

/** Wraps the loader, and what modules that were loaded before took out of `node:fs`. */
export function installModules(installation: Installation): void {
  const Module = loaderOfHost()
  if (Module === undefined) return
  const { _cache: loaded } = Module
  const noteRequest = noteRequestOnce(Module)
  replace(installation, Module, '_load', (sink, [request, parent]) => {
    const path = noteRequest(sink, { request: String(request), parent })
    if (path === undefined) return
    if (!isAbsolute(path)) return installLoaded(installation, path)
    if (loaded[path] === undefined) noteLoad(installation, path)
    sink.read('module', path)
  })
  replace(installation, Module, '_resolveFilename', (sink, [request, parent, , options]) => {
    noteRequest(sink, { request: String(request), parent, options })
  })
  for (const module of Object.values(loaded)) rewrap(installation, module?.exports)
}

/**
 * Notes a request and returns where it leads. What modules of an installed package request of each other is not looked for: such a
 * package counts as a whole, and to look costs as much again as loading them. Loading a module resolves the same request once more,
 * and resolving it by itself is `require.resolve`.
 */
function noteRequestOnce(Module: Loader): (sink: Sink, asked: ModuleRequest) => string | undefined {
  let last: { readonly sink: Sink; readonly asked: ModuleRequest } | undefined
  return (sink, asked) => {
    const { request, parent, options } = asked
    const file = fileOf(parent)
    if (request.startsWith('.') && options === undefined && file !== undefined && isInPackage(file)) return file
    const isSame =
      last?.sink === sink && last.asked.request === request && last.asked.parent === parent && options === undefined
    last = isSame ? undefined : { sink, asked }
    return isSame ? undefined : noteResolution(sink, Module, asked)
  }
}

function isAbsolute(path: string): boolean {
  return builtin('node:path')?.isAbsolute(path) === true
}

/**
 * Libraries keep functions of `node:fs` in objects that they export (fast-glob), or export a changed copy of the module
 * (graceful-fs). What a module keeps for itself is out of reach.
 */
function rewrap(installation: Installation, exported: unknown): void {
  if (!isObject(exported)) return
  if (isObject(Reflect.get(exported, 'gracefulify'))) return installClone(installation, exported)
  for (const part of rewrapIn(installation, exported)) rewrapIn(installation, part)
}

/** Puts wrappers in the place of functions in an object. Returns its other objects. Runs no getters. */
function rewrapIn(installation: Installation, target: object): object[] {
  const names = Object.keys(target)
  if (names.length > NAMES_MAX) return []
  const objects: object[] = []
  const ours = wrappers(installation)
  for (const name of names) {
    const property = Object.getOwnPropertyDescriptor(target, name)
    const value: unknown = property?.value
    const wrapper = typeof value === 'function' && property?.writable === true ? ours.get(value) : undefined
    if (wrapper === undefined) {
      if (isObject(value)) objects.push(value)
      continue
    }
    Reflect.set(target, name, wrapper)
    installation.undo.push(() => void Reflect.set(target, name, value))
  }
  return objects
}

const known: WeakMap<Installation, Map<unknown, unknown>> = new WeakMap()

/** The wrappers of `node:fs` by the functions that they stand for. */
function wrappers(installation: Installation): Map<unknown, unknown> {
  const found = known.get(installation)
  if (found !== undefined) return found
  const files = hostModule('node:fs')
  const values = files === undefined ? [] : [...Object.values(files), ...Object.values(files.promises)]
  const made = new Map<unknown, unknown>(
    values.filter((value) => originalOf(value) !== undefined).map((value) => [originalOf(value), value]),
  )
  known.set(installation, made)
  return made
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

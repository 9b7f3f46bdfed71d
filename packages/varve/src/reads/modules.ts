/** CommonJS modules that code loads while it is recorded: every `require`, also of a module that is loaded already. */
import type * as nodeModule from 'node:module'
import type * as nodeUrl from 'node:url'
import { builtin, hostModule } from '../host/builtin.ts'
import { installClone } from './fs.ts'
import {
  type Loader,
  type ModuleRequest,
  fileOf,
  isInPackage,
  loaderOfHost,
  noteFound,
  noteLoad,
  noteResolution,
} from './resolution.ts'
import { installLoaded } from './opaque.ts'
import { type Installation, type Sink, originalOf, replace, sinkNow } from './sink.ts'

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

/**
 * ES modules that code imports while it is recorded, by `module.registerHooks` where Node.js has it (22.15, 23.5); older versions load
 * them unseen, and the callers of the recorder follow imports by themselves.
 *
 *   load     a module that is loaded
 *   resolve  each import, also of a module that is loaded already, and where `import.meta.resolve` leads: what decides where it is found.
 *            It makes each `require` of the process dearer, so it is noted since the first task, or since a plugin first imported a local module
 *
 * A module that is loaded already brings no loads of what it imports itself: `importsOf` has those.
 */

interface Context {
  readonly conditions?: Iterable<string>
  readonly parentURL?: string | undefined
}

interface Found {
  readonly url: string
}

type Hook = (name: string, context: Context, next: (name: string, context: Context) => Found) => Found
type RegisterHooks = (hooks: Readonly<Record<string, Hook>>) => { deregister(): void }

/** Notes modules that are loaded. */
export function installImports(installation: Installation): void {
  const urls = builtin('node:url')
  if (urls === undefined) return
  register(installation, 'load', (url, context, next) => {
    const path = pathOf(urls, url)
    if (path === undefined) installLoaded(installation, url)
    else {
      noteLoad(installation, path)
      const sink = sinkNow(installation)
      const isOfWork = sink !== undefined && sink !== installation.ambient
      if (isOfWork && isImport(context) && !isInPackage(path)) installResolution(installation)
      sink?.read('module', path)
    }
    return next(url, context)
  })
}

/** Whether a module is imported; what is required is noted elsewhere. */
function isImport({ conditions = [] }: Context): boolean {
  return [...conditions].includes('import')
}

/** Notes where imports lead, from now on. Each `require` of the process takes some 20 us more then. */
export function installResolution(installation: Installation): void {
  const urls = builtin('node:url')
  if (installation.areImportsNoted || urls === undefined) return
  installation.areImportsNoted = true
  register(installation, 'resolve', (specifier, context, next) => {
    if (!isImport(context)) return next(specifier, context)
    let url: string | undefined
    try {
      const found = next(specifier, context)
      url = found.url
      return found
    } finally {
      noteImport(installation, urls, { specifier, parent: context.parentURL, url })
    }
  })
}

interface Import {
  readonly specifier: string
  readonly parent: string | undefined
  /** Where it leads; undefined if it fails. */
  readonly url: string | undefined
}

function noteImport(installation: Installation, urls: typeof nodeUrl, { specifier, parent, url }: Import): void {
  const from = pathOf(urls, parent)
  const found = pathOf(urls, url)
  if (from !== undefined && found !== undefined)
    installation.imports.set(from, (installation.imports.get(from) ?? new Set()).add(found))
  const sink = sinkNow(installation)
  if (sink === undefined || (url !== undefined && found === undefined)) return
  const wanted = pathOf(urls, specifier, parent)
  const Module = loaderOfHost()
  if (wanted !== undefined && found === undefined) sink.read('type', wanted)
  if (wanted === undefined && Module !== undefined)
    noteFound(sink, Module, { request: specifier, parent: { filename: from } }, found)
  if (found !== undefined) sink.read('module', found)
}

/** The path of a file by its URL, or by that relative to another one; undefined if it is none. */
function pathOf(urls: typeof nodeUrl, url: string | undefined, parent?: string): string | undefined {
  const isUrl =
    url !== undefined &&
    (url.startsWith('file:') || (parent?.startsWith('file:') === true && /^(?:\/|\.{1,2}\/)/.test(url)))
  try {
    return isUrl ? urls.fileURLToPath(new URL(url, parent)) : undefined
  } catch {
    return undefined // the loader reports it
  }
}

function register(installation: Installation, name: string, hook: Hook): void {
  const modules: typeof nodeModule | undefined = builtin('node:module')
  const call: unknown = Reflect.get(modules ?? {}, 'registerHooks')
  if (!isRegister(call)) return
  const hooks = call({ [name]: hook })
  installation.undo.push(() => hooks.deregister())
}

function isRegister(value: unknown): value is RegisterHooks {
  return typeof value === 'function'
}

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
import type * as nodeModule from 'node:module'
import type * as nodeUrl from 'node:url'
import { builtin } from '../host/builtin.ts'
import { loaderOfHost, noteLoad } from './loaded.ts'
import { installLoaded } from './opaque.ts'
import { isInPackage, noteFound } from './resolution.ts'
import { type Installation, sinkNow } from './sink.ts'

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
  const [from, found] = [pathOf(urls, parent), pathOf(urls, url)]
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

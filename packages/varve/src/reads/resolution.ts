/**
 * What decides where a module is found: the paths that come before the one that CommonJS takes. Of a request that fails, all of them,
 * because programs load optional modules that way.
 *
 *   './config'  config, config.js, .json, .node, config/package.json, config/index.js, ...
 *   'name'      node_modules/name in each directory from that of the parent upwards. A package that is nearer may appear, as when a
 *               package of a workspace gets a version of its own. What installed packages require of each other is not looked for
 *   '#name'     the manifest of the package around the parent, which has `imports`; by its own name, it has `exports`
 */
import type * as nodePath from 'node:path'
import { builtin } from '../host/builtin.ts'
import { lookAt } from '../inputs/stamp.ts'
import { type Disk, type ReadKind, hostDisk } from '../inputs/input.ts'
import { type Noted, Observed } from '../inputs/observed.ts'
import { type Installation, type Sink, sharedInstallation, isCallable, unrecordedNow } from './sink.ts'

/** Parts of `node:module` that are public in fact and missing in its types. */
export interface Resolver {
  readonly _resolveFilename: (request: string, parent: unknown, isMain?: unknown, options?: unknown) => string
  readonly _nodeModulePaths: (folder: string) => string[]
  readonly _extensions: Readonly<Record<string, unknown>>
}

/** One request for a module. */
export interface ModuleRequest {
  readonly request: string
  readonly parent: unknown
  /** Of `require.resolve`. */
  readonly options?: unknown
}

/** Resolves a request and notes what decided it. The path or name that it leads to; undefined if there is none. */
export function noteResolution(sink: Sink, Module: Resolver, asked: ModuleRequest): string | undefined {
  return noteFound(
    sink,
    Module,
    asked,
    unrecordedNow(() => resolve(Module, asked)),
  )
}

/** Notes what decided a request that leads to a known path, or to none. */
export function noteFound(
  sink: Sink,
  Module: Resolver,
  asked: ModuleRequest,
  found: string | undefined,
): string | undefined {
  const paths = builtin('node:path')
  if (paths === undefined || (found !== undefined && !paths.isAbsolute(found))) return found
  const isName = !isPath(paths, asked.request)
  if (found !== undefined && isInPackage(found) && (!isName || foldersOf(paths, asked).every(isInPackage))) return found
  const reads = isName ? packages(paths, Module, asked, found) : candidates(paths, Module, asked, found)
  for (const [kind, path] of reads) sink.read(kind, path)
  return found
}

/** Whether a path lies in an installed package, which counts as a whole. */
export function isInPackage(path: string): boolean {
  return /[\\/]node_modules[\\/]/.test(path)
}

/** The file of a CommonJS module. */
export function fileOf(module: unknown): string | undefined {
  const file: unknown = typeof module === 'object' && module !== null ? Reflect.get(module, 'filename') : undefined
  return typeof file === 'string' ? file : undefined
}

function resolve(Module: Resolver, { request, parent, options }: ModuleRequest): string | undefined {
  const { _resolveFilename: call } = Module
  try {
    const found: unknown = Reflect.apply(call, Module, [request, parent, false, options])
    return typeof found === 'string' ? found : undefined
  } catch {
    return undefined // the loader reports it
  }
}

function isPath(paths: typeof nodePath, request: string): boolean {
  return /^\.{1,2}(?:[\\/]|$)/.test(request) || paths.isAbsolute(request)
}

/** The directories that a request is relative to. */
function foldersOf(paths: typeof nodePath, { parent, options }: ModuleRequest): readonly string[] {
  const given: unknown = typeof options === 'object' && options !== null ? Reflect.get(options, 'paths') : undefined
  if (Array.isArray(given)) return given.map((folder) => paths.resolve(String(folder)))
  const file = fileOf(parent)
  return [file === undefined ? paths.resolve() : paths.dirname(file)]
}

function* candidates(
  paths: typeof nodePath,
  Module: Resolver,
  asked: ModuleRequest,
  found?: string,
): Generator<readonly [ReadKind, string]> {
  const { _extensions: extensions } = Module
  const ends = Object.keys(extensions)
  for (const folder of foldersOf(paths, asked)) {
    const base = paths.resolve(folder, asked.request)
    const files = ['', ...ends].map((end) => base + end)
    const inside = ends.map((end) => paths.join(base, `index${end}`))
    const manifest = paths.join(base, 'package.json')
    for (const path of [...files, manifest, ...inside]) {
      if (path === found) return
      yield [path === manifest ? 'content' : 'type', path]
    }
  }
}

function* packages(
  paths: typeof nodePath,
  Module: Resolver,
  asked: ModuleRequest,
  found?: string,
): Generator<readonly [ReadKind, string]> {
  const disk = hostDisk()
  const name = asked.request.split('/', asked.request.startsWith('@') ? 2 : 1).join('/')
  if (disk === undefined || name === '') return
  const folders = foldersOf(paths, asked)
  const isOwn = found === undefined || !isInPackage(found) || name.startsWith('#')
  if (isOwn) for (const folder of folders) yield* manifestsAround(disk, folder, name)
  if (name.startsWith('#')) return
  const { _nodeModulePaths: above } = Module
  for (const folder of folders.flatMap((one) => Reflect.apply(above, Module, [one]))) {
    const manifest = paths.join(folder, name, 'package.json')
    yield ['content', manifest]
    if (found !== undefined && isThere(disk, manifest)) return
  }
}

/** What decides about a name of the package around a folder itself: `imports` of its manifest (`#lib`), or `exports` under its own name. */
function* manifestsAround(disk: Disk, folder: string, name: string): Generator<readonly [ReadKind, string]> {
  const { dirname, join } = disk.paths
  for (let at = folder, isEnd = false; !isEnd; at = dirname(at)) {
    const manifest = join(at, 'package.json')
    isEnd = isThere(disk, manifest) || at === dirname(at)
    if (name.startsWith('#') || (isEnd && nameIn(disk, manifest) === name)) yield ['content', manifest]
  }
}

function isThere({ fs: files }: Disk, path: string): boolean {
  return lookAt(files, path) !== 'missing'
}

function nameIn({ fs: files }: Disk, manifest: string): string | undefined {
  try {
    const { name }: { name?: unknown } = JSON.parse(files.readFileSync(manifest, 'utf8'))
    return typeof name === 'string' ? name : undefined
  } catch {
    return undefined
  }
}

/** Parts of `node:module` that are public in fact and missing in its types. */
export interface Loader extends Resolver {
  readonly _cache: Readonly<
    Record<string, { readonly exports: unknown; readonly children?: readonly unknown[] } | undefined>
  >
}

/** Paths of the CommonJS modules that are loaded now. */
export function loadedModules(): string[] {
  const { _cache: loaded = {} } = loaderOfHost() ?? {}
  return Object.keys(loaded)
}

/** The loader of CommonJS. */
export function loaderOfHost(): Loader | undefined {
  const Module: unknown = builtin('node:module')?.Module
  return isLoader(Module) ? Module : undefined
}

/** A local module is about to be loaded. */
export function noteLoad({ modules }: Installation, path: string): void {
  const disk = isInPackage(path) ? undefined : hostDisk()
  if (disk !== undefined) modules.set(path, Observed.settled(disk, 'module', path))
}

/**
 * Paths of the modules that a loaded module has imported or required. Tools load plugins and loaders for all work, so what an installed
 * package has loaded of the project is not part of it.
 */
export function importsOf(path: string): string[] {
  const { _cache: loaded = {} } = loaderOfHost() ?? {}
  const required = (loaded[path]?.children ?? []).flatMap((child) => fileOf(child) ?? [])
  const all = [...required, ...(sharedInstallation()?.imports.get(path) ?? [])]
  return isInPackage(path) ? all.filter(isInPackage) : all
}

/** Calls `note` with a module, and with what it has loaded and these in turn, below each for which it returns true. */
export function forEachLoaded(path: string, note: (path: string) => boolean): void {
  const waiting = [path] // not recursive: thousands of modules may have loaded each other one by one
  for (const module of waiting) if (note(module)) waiting.push(...importsOf(module))
}

function isLoader(value: unknown): value is Loader {
  return (
    isCallable(value) &&
    ['_resolveFilename', '_nodeModulePaths', '_extensions', '_cache'].every((part) => part in value)
  )
}

/** A look at what is read. Code is what it was when the process loaded it, whatever is in its file now. */
export function lookedAt(disk: Disk, kind: ReadKind, path: string): Noted {
  return (kind === 'module' ? sharedInstallation()?.modules.get(path) : undefined) ?? Observed.settled(disk, kind, path)
}

/** The modules of one scope. */
export class FollowedModules {
  readonly #paths: Set<string> = new Set()

  /** Adds a module. Returns the modules below it that are new. */
  follow(path: string): readonly string[] {
    if (this.#paths.has(path)) return []
    this.#paths.add(path)
    return this.#below([path])
  }

  /** What modules have loaded since they were added, such as those of two scopes that import one module at the same time. */
  followAll(): readonly string[] {
    return this.#below([...this.#paths])
  }

  #below(pending: string[]): readonly string[] {
    const found: string[] = []
    for (const path of pending) {
      for (const imported of importsOf(path)) {
        if (this.#paths.has(imported)) continue
        this.#paths.add(imported)
        pending.push(imported)
        found.push(imported)
      }
    }
    return found
  }
}

/** Modules that are loaded: what they were then, and what they have loaded. */
import { builtin } from '../host/builtin.ts'
import { type Disk, hostDisk, type ReadKind } from '../inputs/input.ts'
import { Observed } from './observed.ts'
import { fileOf, isInPackage, type Resolver } from './resolution.ts'
import { type Installation, installation as shared, type Noted, unrecordedNow } from './sink.ts'
import { isCallable } from './wrapper.ts'

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
  if (disk !== undefined)
    modules.set(
      path,
      unrecordedNow(() => new Observed(disk, 'module', path)),
    )
}

/**
 * Paths of the modules that a loaded module has imported or required. Tools load plugins and loaders for all work, so what an installed
 * package has loaded of the project is not part of it.
 */
export function importsOf(path: string): string[] {
  const { _cache: loaded = {} } = loaderOfHost() ?? {}
  const required = (loaded[path]?.children ?? []).flatMap((child) => fileOf(child) ?? [])
  const all = [...required, ...(shared()?.imports.get(path) ?? [])]
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
  return (kind === 'module' ? shared()?.modules.get(path) : undefined) ?? new Observed(disk, kind, path)
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

/**
 * The one installation of the recorder in this process, and its listeners. Two copies of Varve share it, so its shape
 * is fixed by its name: a copy with another shape has an installation of its own.
 */
import type { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { builtin } from '../host/builtin.ts'
import { hostDisk, type ReadKind } from '../inputs/input.ts'
import type { Noted, Present } from '../inputs/observed.ts'
import { packagePath } from '../host/builtin.ts'
import { markOwn, ownOf } from '../host/own.ts'

/** Receives the reads of the code that runs now. No method throws. */
export interface Sink {
  /** A read of this path, absolute, is about to be made; `isSize`: only its size is used. */
  read(kind: ReadKind, path: string, isSize?: boolean): void
  /** This path, absolute, is about to be written, or removed with all below it. */
  wrote(path: string, isRemoval?: boolean): void
  /** A variable of the environment is read; `isListed`: by code that goes through all of them. */
  variable(name: string, isListed: boolean): void
  /** The names of all variables that begin with a prefix are read, in whatever case. */
  variables(prefix: string): void
  /** A variable is about to be set or removed. */
  changedVariable(name: string): void
  /** Something begins whose reads cannot be seen. */
  opaque(event: Opaque): void
}

/** What cannot be seen into. */
export interface Opaque {
  readonly kind: 'process' | 'worker' | 'addon' | 'database' | 'wasi' | 'network'
  /** The program, script, addon, database or host, or the module that starts a program of WASI: a path or a command. */
  readonly what: string
  /** The path of the module that loaded an addon. */
  readonly by?: string | undefined
  /** An addon that was loaded before is called. */
  readonly isCall?: boolean
}

/** Notes what a program reads outside of scopes, until the first of them begins. */
export interface Ambient extends Sink {
  readonly reads: ReadonlyMap<string, Noted>
  /** Files that the program read and removed, which are in its memory only; found when `reads` is asked for. An older copy has none. */
  readonly consumed?: ReadonlySet<string>
  /** What was loaded or opened that recorded work may use, by its path. */
  readonly hidden: ReadonlyMap<string, Opaque>
  /** Scopes under way: nothing is noted while there are any. */
  scopes: number
  readonly isTooLong: boolean
}

/** The state that all copies share. */
export interface Installation {
  /** The sink of the code that runs now; null: nothing is recorded, undefined: whatever is recorded outside of scopes. */
  readonly storage: AsyncLocalStorage<Sink | null>
  /** Receives reads outside of all scopes, while those count. */
  ambient: Ambient | undefined
  /** Output directories of builds of this process, absolute. */
  readonly outputs: Set<string>
  /** Undoes each change, the last one first. */
  readonly undo: (() => void)[]
  /** Local modules as they were when they were loaded, by path. */
  readonly modules: Map<string, Noted>
  /** What each ES module imports, by path; noted once `areImportsNoted`. */
  readonly imports: Map<string, Set<string>>
  areImportsNoted: boolean
  /** Paths of addons that report recorded work which calls them. */
  readonly addons: Set<string>
  /** Depth of Varve's own work on this stack. */
  unrecorded: number
  /** Runs of `recorded` and `unrecorded`, and builds, that have not ended. */
  running: number
  /** Recorded work began something that goes on and may read at any time, so the storage stays in use. */
  isNeeded: boolean
  /** It goes out of use after this turn of the event loop. */
  isReleasing: boolean
}

/** Looking for the resource that triggers another one takes longer than making it. */
const NO_TRIGGER = 0

/** That of the host, which tests may replace later. */
const { setImmediate: soon } = globalThis

const NAME: unique symbol = Symbol.for('varve.reads.10')

/** Marks the wrappers of copies that share an installation. Those of another shape are wrapped again, because their notes go elsewhere. */
export const WRAPPED: unique symbol = Symbol.for('varve.reads.10.wrapped')

/** The installation, undefined until there is one. */
export function sharedInstallation(): Installation | undefined {
  const found: unknown = Reflect.get(globalThis, NAME)
  return isInstallation(found) ? found : undefined
}

/** Makes the installation. Undefined without the modules of Node.js. */
export function makeInstallation(): Installation | undefined {
  const hooks = builtin('node:async_hooks')
  if (hooks === undefined) return undefined
  const idle = { unrecorded: 0, running: 0, isNeeded: !isStorageCostly(), isReleasing: false }
  const loaded = { modules: new Map(), imports: new Map(), areImportsNoted: false, addons: new Set<string>() }
  const made: Installation = {
    storage: new hooks.AsyncLocalStorage(),
    ambient: undefined,
    outputs: new Set(),
    undo: [],
    ...loaded,
    ...idle,
  }
  // Jest replaces properties of objects on the global scope by accessors that call themselves, unless they cannot be configured.
  Object.seal(made)
  Object.defineProperty(globalThis, NAME, { value: made, configurable: true, enumerable: false, writable: false })
  return made
}

/** Removes it: what was wrapped is what it was. */
export function removeInstallation(): void {
  const found = sharedInstallation()
  if (found === undefined) return
  for (const undo of found.undo.toReversed()) undo()
  Reflect.deleteProperty(globalThis, NAME)
}

/** The sink of the code that runs now. */
export function outerSink(installed: Installation | undefined = sharedInstallation()): Sink | undefined {
  return installed?.storage.getStore() ?? undefined
}

/** Whether the program read this while it started, and it has changed since; `now` finds what is there. */
export function isOutdated(kind: ReadKind, path: string, now: () => Present): boolean {
  const read = sharedInstallation()?.ambient?.reads.get(`${kind} ${path}`)
  const disk = hostDisk()
  return read !== undefined && disk !== undefined && read.hasChanged(disk, now())
}

/**
 * A build of the project `root` writes its output to this directory. Programs read, replace and remove files there. A directory that
 * contains the project has sources, too.
 */
export function noteOutput(folder: string, root: string): void {
  const paths = builtin('node:path')
  if (paths === undefined) return
  const output = paths.resolve(root, folder)
  const isAround = `${paths.resolve(root)}${paths.sep}`.startsWith(
    output.endsWith(paths.sep) ? output : `${output}${paths.sep}`,
  )
  if (!isAround) sharedInstallation()?.outputs.add(output)
}

/** Whether a path is an output directory. */
export function isOutputFolder(path: string): boolean {
  return sharedInstallation()?.outputs.has(path) === true
}

/** Whether a path is an output directory or below one. It looks up from the path, because a process may have many outputs. */
export function isOutput(path: string): boolean {
  const outputs = sharedInstallation()?.outputs
  const paths = builtin('node:path')
  if (outputs === undefined || outputs.size === 0 || paths === undefined) return false
  const folder = paths.dirname(path)
  return outputs.has(path) || (folder !== path && isOutput(folder))
}

/** Receives a read that is made now; undefined if it does not count. */
export function sinkNow({ storage, ambient, unrecorded: depth }: Installation): Sink | undefined {
  if (depth > 0) return undefined
  const store = storage.getStore()
  return (store === undefined ? ambient : store) ?? undefined
}

/** Runs work whose reads this sink receives, also those of what the work begins. */
export function recorded<T>(installed: Installation, sink: Sink, work: () => T): T {
  if (installed.isNeeded) return installed.storage.run(sink, work)
  const before = nextAsyncId()
  installed.running += 1
  try {
    return installed.storage.run(sink, work)
  } finally {
    installed.running -= 1
    installed.isNeeded ||= nextAsyncId() !== before + 1
    releaseSoon(installed)
  }
}

/** Runs Varve's own work, which is not recorded, nor is what it begins until the promise that it returns is settled. */
export function unrecorded<T>(work: () => T): T {
  const found = sharedInstallation()
  if (found === undefined) return work()
  if (found.isNeeded) return found.storage.run(null, work)
  const end = inUse(found)
  let result: T | undefined
  try {
    result = found.storage.run(null, work)
    return result
  } finally {
    if (result instanceof Promise) result.then(end, end)
    else end()
  }
}

/** Runs Varve's own work that is over when it returns, without the storage. */
export function unseen<T>(installation: Installation, work: () => T): T {
  installation.unrecorded += 1
  try {
    return work()
  } finally {
    installation.unrecorded -= 1
  }
}

/** Does so with the installation of this process. */
export function unrecordedNow<T>(work: () => T): T {
  const found = sharedInstallation()
  return found === undefined ? work() : unseen(found, work)
}

/** Keeps the storage in use until the result is called, once. */
export function inUse(installed: Installation): () => void {
  installed.running += 1
  return () => {
    installed.running -= 1
    release(installed)
  }
}

/**
 * Takes the storage out of use if nothing needs it. Before Node.js 24, every promise of the process costs more while it is in use: 35 ms
 * for 2,000 hits, which need no storage.
 */
export function release(installed: Installation | undefined = sharedInstallation()): void {
  if (installed !== undefined && installed.running === 0 && !installed.isNeeded) installed.storage.disable()
}

/**
 * Takes the storage out of use after this turn of the event loop. Calls come in rows, such as those that resolve all imports of a module, and to put the
 * storage in and out of use for each of 2,000 calls took 18 of 24 ms.
 */
function releaseSoon(installed: Installation): void {
  if (installed.isReleasing || installed.isNeeded) return
  installed.isReleasing = true
  soon(() => {
    installed.isReleasing = false
    release(installed)
  }).unref()
}

/** Whether the host is an older Node.js. Others give a context to each promise anyway. */
function isStorageCostly(): boolean {
  const { node, bun, deno }: Readonly<Record<string, string | undefined>> = globalThis.process.versions
  return bun === undefined && deno === undefined && Number.parseInt(node ?? '', 10) < 24
}

let Resource: typeof AsyncResource | undefined

/** The id of an asynchronous resource made now. Ids are consecutive, so two of them show whether others were made between them. */
function nextAsyncId(): number {
  Resource ??= builtin('node:async_hooks')?.AsyncResource
  return Resource === undefined ? 0 : new Resource('varve', NO_TRIGGER).asyncId()
}

function isInstallation(found: unknown): found is Installation {
  return typeof found === 'object' && found !== null && 'storage' in found && 'undo' in found
}

/**
 * Functions in the place of others: same name, length and own properties, the same results and errors. Errors that are
 * thrown keep their stack, without the line of this file.
 */

type Callable = (...args: unknown[]) => unknown

/** Called before each call. May return what is called with its result, and gives the one to return. */
export interface Note {
  (sink: Sink, args: readonly unknown[]): ((result: unknown) => unknown) | void
  /** Whether the function writes. What it reads for that, such as the files in a folder that it removes, is not read by the program. */
  readonly isWrite?: boolean
  /** Whether the function reads a whole file. `readFileSync` opens it by `openSync` if it is given no encoding: that is one read, not two. */
  readonly isWhole?: boolean
}

/** The end of the path of this module, which stack traces leave out. The lines of a bundle stay: its file contains the code of the tool, too. */
const HERE: string | undefined = packagePath()?.replace('host/builtin', 'reads/sink')

/** What `native` of `realpath` and `util.promisify` take reads files, too. */
const VARIANTS: ReadonlySet<string | symbol> = new Set(['native', Symbol.for('nodejs.util.promisify.custom')])

/** A wrapper of `original`: `note` receives the calls of recorded code. */
export function wrap(installation: Installation, original: Callable, note: Note): Callable {
  return wrapWith(installation, original, note, (key, own) =>
    VARIANTS.has(key) ? wrapWith(installation, own, note, (_, same) => same) : own,
  )
}

/** `wrapOwn` gives what takes the place of a function that is a property of the original. */
export function wrapWith(
  installation: Installation,
  original: Callable,
  note: Note,
  wrapOwn: (key: string | symbol, own: Callable) => Callable,
): Callable {
  const wrapper = function (this: unknown, ...args: unknown[]): unknown {
    const sink = sinkNow(installation)
    const after = sink === undefined ? undefined : noted(installation, note, sink, args)
    const depth = note.isWrite === true || note.isWhole === true ? 1 : 0
    installation.unrecorded += depth
    try {
      const result: unknown =
        new.target === undefined ? Reflect.apply(original, this, args) : Reflect.construct(original, args, new.target)
      return after === undefined ? result : after(result)
    } catch (error) {
      // Varve's own work shows no stack, and to make one takes longer than most calls.
      throw installation.unrecorded > depth ? error : withoutHere(error)
    } finally {
      installation.unrecorded -= depth
    }
  }
  for (const key of Reflect.ownKeys(original)) if (key !== WRAPPED) copyProperty(original, wrapper, key, wrapOwn)
  Object.defineProperty(wrapper, WRAPPED, { value: original })
  markOwn(wrapper, withoutNotes(installation, original))
  return wrapper
}

/** Notes a call. What that reads itself is not noted, also if a library has put a function of its own in front of a wrapper. */
export function noted(installation: Installation, note: Note, sink: Sink, args: readonly unknown[]): ReturnType<Note> {
  installation.unrecorded += 1
  try {
    return note(sink, args)
  } finally {
    installation.unrecorded -= 1
  }
}

/** The function as Varve calls it, with its variant `native`: what they call themselves is not noted either. */
function withoutNotes(installation: Installation, original: Callable): Callable {
  const inner = ownOf(original)
  const call = isCallable(inner) ? inner : original
  const own = function (this: unknown, ...args: unknown[]): unknown {
    installation.unrecorded += 1
    try {
      return Reflect.apply(call, this, args)
    } finally {
      installation.unrecorded -= 1
    }
  }
  const native: unknown = Reflect.get(original, 'native')
  return isCallable(native) ? Object.assign(own, { native: withoutNotes(installation, native) }) : own
}

/** The function that a wrapper stands for, undefined if it is none. */
export function originalOf(value: unknown): unknown {
  return typeof value === 'function' ? Reflect.get(value, WRAPPED) : undefined
}

/**
 * Puts a wrapper in the place of a method. Does nothing if there is none, or one of ours. To undo it changes nothing if another
 * library wrapped the method since.
 */
export function replace(installation: Installation, target: object, name: string, note: Note): void {
  const original: unknown = Reflect.get(target, name)
  if (!isCallable(original) || originalOf(original) !== undefined) return
  const wrapper = wrap(installation, original, note)
  if (!Reflect.set(target, name, wrapper)) return
  installation.undo.push(() => {
    if (Reflect.get(target, name) === wrapper) Reflect.set(target, name, original)
  })
}

/** Whether this can be called. */
export function isCallable(value: unknown): value is Callable {
  return typeof value === 'function'
}

function copyProperty(
  original: Callable,
  wrapper: Callable,
  key: string | symbol,
  wrapOwn: (key: string | symbol, own: Callable) => Callable,
): void {
  const property = Object.getOwnPropertyDescriptor(original, key)
  const existing = Object.getOwnPropertyDescriptor(wrapper, key)
  if (property === undefined || existing?.configurable === false) {
    if (key === 'prototype') Reflect.set(wrapper, key, original.prototype)
    return
  }
  if (isCallable(property.value)) property.value = property.value === original ? wrapper : wrapOwn(key, property.value)
  Object.defineProperty(wrapper, key, property)
}

function withoutHere(error: unknown): unknown {
  const stack: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'stack') : undefined
  if (typeof error !== 'object' || error === null || typeof stack !== 'string' || HERE === undefined) return error
  const lines = stack.split('\n')
  Reflect.set(error, 'stack', lines.filter((line) => !line.includes(HERE)).join('\n'))
  return error
}

/**
 * The one installation of the recorder in this process, and its listeners. Two copies of Varve share it, so its shape
 * is fixed by its name: a copy with another shape has an installation of its own.
 */
import type { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { builtin } from '../host/builtin.ts'
import { type Disk, type Found, hostDisk, type ReadKind } from '../inputs/input.ts'

/** Receives the reads of the code that runs now. No method throws. */
export interface Sink {
  /** A read of this path, absolute, is about to be made; `isSize`: only its size is used. */
  read(kind: ReadKind, path: string, isSize?: boolean): void
  /** This path, absolute, is about to be written or removed. */
  wrote(path: string): void
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

/** A read that was noted, of whichever copy. */
export interface Noted {
  readonly kind: ReadKind
  readonly path: string
  isCurrent(disk: Disk): boolean
  /** Whether the path is no longer what was read. */
  hasChanged(disk: Disk): boolean
  freeze(disk: Disk): void
  seal(disk: Disk): Found | undefined
}

/** Notes what a program reads outside of scopes, until the first of them begins. */
export interface Ambient extends Sink {
  readonly reads: ReadonlyMap<string, Noted>
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
  /** Depth of `unrecordedNow` on this stack. */
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

const NAME: unique symbol = Symbol.for('varve.reads.9')

/** Marks the wrappers of copies that share an installation. Those of another shape are wrapped again, because their notes go elsewhere. */
export const WRAPPED: unique symbol = Symbol.for('varve.reads.9.wrapped')

/** The installation, undefined until there is one. */
export function installation(): Installation | undefined {
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
  const found = installation()
  if (found === undefined) return
  for (const undo of found.undo.toReversed()) undo()
  Reflect.deleteProperty(globalThis, NAME)
}

/** The sink of the code that runs now. */
export function outerSink(installed: Installation | undefined = installation()): Sink | undefined {
  return installed?.storage.getStore() ?? undefined
}

/** Whether the program read this while it started, and it has changed since. */
export function isOutdated(kind: ReadKind, path: string): boolean {
  const read = installation()?.ambient?.reads.get(`${kind} ${path}`)
  const disk = hostDisk()
  return read !== undefined && disk !== undefined && read.hasChanged(disk)
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
  if (!isAround) installation()?.outputs.add(output)
}

/** Whether a path is an output directory or below one. It looks up from the path, because a process may have many outputs. */
export function isOutput(path: string): boolean {
  const outputs = installation()?.outputs
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
  const found = installation()
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

/** The same for work that is over when it returns, without the storage. */
export function unrecordedNow<T>(work: () => T): T {
  const found = installation()
  if (found === undefined) return work()
  found.unrecorded += 1
  try {
    return work()
  } finally {
    found.unrecorded -= 1
  }
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
export function release(installed: Installation | undefined = installation()): void {
  if (installed !== undefined && installed.running === 0 && !installed.isNeeded) installed.storage.disable()
}

/**
 * The same after this turn of the event loop. Calls come in rows, such as those that resolve all imports of a module, and to put the
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

/** The id of an asynchronous resource made now. Ids are consecutive, so two of them show whether others were made meanwhile. */
function nextAsyncId(): number {
  Resource ??= builtin('node:async_hooks')?.AsyncResource
  return Resource === undefined ? 0 : new Resource('varve', NO_TRIGGER).asyncId()
}

function isInstallation(found: unknown): found is Installation {
  return typeof found === 'object' && found !== null && 'storage' in found && 'undo' in found
}

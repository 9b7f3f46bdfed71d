/**
 * The one installation of the recorder in this process, and its listeners. Two copies of Varve share it, so its shape
 * is fixed by its name: a copy with another shape has an installation of its own.
 */
import type { AsyncLocalStorage } from 'node:async_hooks'
import { builtin } from '../host/builtin.ts'
import type { Disk, ReadKind, Sealed } from './kinds.ts'

/** Receives the reads of the code that runs now. No method throws. */
export interface Sink {
  /** A read of this path, absolute, is about to be made. */
  read(kind: ReadKind, path: string): void
  /** This path, absolute, is about to be written or removed. */
  wrote(path: string): void
  /** A variable of the environment is read; `isListed`: while all of them are gone through. */
  variable(name: string, isListed: boolean): void
  /** The names of all variables are read. */
  variables(): void
  /** Something begins whose reads cannot be seen. */
  opaque(event: Opaque): void
}

/** What cannot be seen into. */
export interface Opaque {
  readonly kind: 'process' | 'worker' | 'addon'
  /** The program, script or addon: a path or a command. */
  readonly what: string
}

/** A read that was noted, of whichever copy. */
export interface Noted {
  readonly kind: ReadKind
  readonly path: string
  freeze(disk: Disk): void
  seal(disk: Disk): Sealed | undefined
}

/** Notes what a program reads outside of scopes, until the first of them begins. */
export interface Ambient extends Sink {
  readonly reads: ReadonlyMap<string, Noted>
  /** Paths of addons that were loaded. */
  readonly addons: ReadonlySet<string>
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
  /** Undoes each change, the last one first. */
  readonly undo: (() => void)[]
}

const NAME: unique symbol = Symbol.for('varve.reads.1')

/** The installation, undefined until there is one. */
export function installation(): Installation | undefined {
  const found: unknown = Reflect.get(globalThis, NAME)
  return isInstallation(found) ? found : undefined
}

/** Makes the installation. Undefined without the modules of Node.js. */
export function makeInstallation(): Installation | undefined {
  const hooks = builtin('node:async_hooks')
  if (hooks === undefined) return undefined
  const made: Installation = { storage: new hooks.AsyncLocalStorage(), ambient: undefined, undo: [] }
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

/** Runs Varve's own work, which is not recorded. */
export function unrecorded<T>(work: () => T): T {
  const found = installation()
  return found === undefined ? work() : found.storage.run(null, work)
}

function isInstallation(found: unknown): found is Installation {
  return typeof found === 'object' && found !== null && 'storage' in found && 'undo' in found
}

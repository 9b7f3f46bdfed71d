/**
 * Functions in the place of others: same name, length and own properties, the same results and errors. Errors that are
 * thrown keep their stack, without the line of this file.
 */
import { packagePath } from '../host/code.ts'
import { markOwn } from '../host/own.ts'
import { type Installation, type Sink, sinkNow, WRAPPED } from './sink.ts'

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
const HERE: string | undefined = packagePath()?.replace('host/code', 'reads/wrapper')

/** What `native` of `realpath` and `util.promisify` take reads files, too. */
const VARIANTS: ReadonlySet<string | symbol> = new Set(['native', Symbol.for('nodejs.util.promisify.custom')])

/** A wrapper of `original`: `note` receives the calls of recorded code. */
export function wrap(installation: Installation, original: Callable, note: Note): Callable {
  return wrapWith(installation, original, note, (key, own) =>
    VARIANTS.has(key) ? wrapWith(installation, own, note, (_, same) => same) : own,
  )
}

/** The same; `wrapOwn` gives what takes the place of a function that is a property of the original. */
export function wrapWith(
  installation: Installation,
  original: Callable,
  note: Note,
  wrapOwn: (key: string | symbol, own: Callable) => Callable,
): Callable {
  const wrapper = function (this: unknown, ...args: unknown[]): unknown {
    const sink = sinkNow(installation)
    const after = sink === undefined ? undefined : note(sink, args)
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

/** The function as Varve calls it: what it calls itself is not noted either. */
function withoutNotes(installation: Installation, original: Callable): Callable {
  return function (this: unknown, ...args: unknown[]): unknown {
    installation.unrecorded += 1
    try {
      return Reflect.apply(original, this, args)
    } finally {
      installation.unrecorded -= 1
    }
  }
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

/**
 * Functions in the place of others: same name, length and own properties, the same results and errors. Errors that are
 * thrown keep their stack, without the line of this file.
 */
import { packagePath } from '../host/code.ts'
import { type Installation, type Sink, sinkNow, WRAPPED } from './sink.ts'

type Callable = (...args: unknown[]) => unknown

/** Called before each call. */
export interface Note {
  (sink: Sink, args: readonly unknown[]): void
  /** Whether the function writes. What it reads for that, such as the files in a folder that it removes, is not read by the program. */
  readonly isWrite?: boolean
}

/** The end of the path of this module, which stack traces leave out. The lines of a bundle stay: its file contains the code of the tool, too. */
const HERE: string | undefined = packagePath()?.replace('host/code', 'reads/wrapper')

/** A wrapper of `original`: `note` receives the calls of recorded code. */
export function wrap(installation: Installation, original: Callable, note: Note): Callable {
  return wrapWith(installation, original, note, (variant) => wrapWith(installation, variant, note, (same) => same))
}

function wrapWith(
  installation: Installation,
  original: Callable,
  note: Note,
  wrapVariant: (variant: Callable) => Callable,
): Callable {
  const wrapper = function (this: unknown, ...args: unknown[]): unknown {
    const sink = sinkNow(installation)
    if (sink !== undefined) note(sink, args)
    const depth = note.isWrite === true ? 1 : 0
    installation.unrecorded += depth
    try {
      return new.target === undefined
        ? Reflect.apply(original, this, args)
        : Reflect.construct(original, args, new.target)
    } catch (error) {
      // Varve's own work shows no stack, and to make one takes longer than most calls.
      throw installation.unrecorded > depth ? error : withoutHere(error)
    } finally {
      installation.unrecorded -= depth
    }
  }
  for (const key of Reflect.ownKeys(original)) copyProperty(original, wrapper, key, wrapVariant)
  Object.defineProperty(wrapper, WRAPPED, { value: original })
  return wrapper
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

/** `native` of `realpath` and what `util.promisify` takes read files, too. */
function copyProperty(
  original: Callable,
  wrapper: Callable,
  key: string | symbol,
  wrapVariant: (variant: Callable) => Callable,
): void {
  const property = Object.getOwnPropertyDescriptor(original, key)
  const existing = Object.getOwnPropertyDescriptor(wrapper, key)
  if (property === undefined || existing?.configurable === false) {
    if (key === 'prototype') Reflect.set(wrapper, key, original.prototype)
    return
  }
  const isVariant = key === 'native' || key === Symbol.for('nodejs.util.promisify.custom')
  if (isVariant && isCallable(property.value))
    property.value = property.value === original ? wrapper : wrapVariant(property.value)
  Object.defineProperty(wrapper, key, property)
}

function withoutHere(error: unknown): unknown {
  const stack: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'stack') : undefined
  if (typeof error !== 'object' || error === null || typeof stack !== 'string' || HERE === undefined) return error
  const lines = stack.split('\n')
  Reflect.set(error, 'stack', lines.filter((line) => !line.includes(HERE)).join('\n'))
  return error
}

/**
 * What Varve uses of a host that programs replace: the file system and the environment past the wrappers of the recorder (`reads/`), so that
 * what Varve reads is no read of the work around, and the time. The module is the host's, at each use: Yarn has patched it by then, and
 * tests may replace functions.
 */
import type * as fs from 'node:fs'

/**
 * On each wrapper of the recorder, and on its accessor of the environment: the function as Varve calls it, without notes. Node.js itself
 * calls some public functions from others (`readFileSync` calls `openSync`), so the original alone would not do.
 */
const OWN: unique symbol = Symbol.for('varve.own')

const views: WeakMap<object, object> = new WeakMap()

/** A file system whose functions are not recorded. */
export function ownFiles<Files extends typeof fs | typeof fs.promises>(files: Files): Files {
  const known = views.get(files) as Files | undefined
  if (known !== undefined) return known
  const view = new Proxy(files, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name)
      if (name === 'promises') return ownFiles(value as typeof fs.promises)
      return typeof value === 'function' ? ownOf(value) : value
    },
  })
  views.set(files, view)
  return view
}

/** The environment, without notes of what is read. */
export function ownEnv(): NodeJS.ProcessEnv {
  const { process } = globalThis
  const get = Object.getOwnPropertyDescriptor(process, 'env')?.get
  const own = get === undefined ? get : ownOf(get)
  return own === get ? process.env : Reflect.apply(own as () => NodeJS.ProcessEnv, process, [])
}

/** Marks a wrapper of the recorder. Others may copy its properties to a wrapper of their own, which the mark is not about. */
export function markOwn(wrapper: object, own: (...args: never[]) => unknown): void {
  Object.defineProperty(wrapper, OWN, { value: { wrapper, own }, configurable: true })
}

/** The function as Varve calls it, past all recorders: there is one for each copy of Varve of another shape. */
export function ownOf(value: object): unknown {
  const mark: unknown = Reflect.get(value, OWN)
  const isMarked = typeof mark === 'object' && mark !== null && Reflect.get(mark, 'wrapper') === value
  return isMarked ? Reflect.get(mark, 'own') : value
}

// The time: in tests above all, programs replace its functions by those that return anything, or remove them.

/** Milliseconds since 1970, as a whole number; 0 if the program has no clock. */
export function nowMs(): number {
  for (const clock of [() => Date.now(), () => performance.timeOrigin + performance.now()]) {
    const whole = Math.floor(numberOf(clock))
    if (Number.isSafeInteger(whole) && whole >= 0) return whole
  }
  return 0
}

/** Milliseconds that only differences are made of; always 0 if the program has no such clock. */
export function runningMs(): number {
  const ms = numberOf(() => performance.now())
  return Number.isFinite(ms) ? ms : 0
}

function numberOf(clock: () => unknown): number {
  try {
    const ms = clock()
    return typeof ms === 'number' ? ms : Number.NaN
  } catch {
    return Number.NaN
  }
}

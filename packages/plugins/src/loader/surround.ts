/**
 * Runs the functions of loaders inside of what surrounds their chain. webpack calls them from the callback of the loader before, so
 * they are inside anyway. Rspack calls them from its native code, once to pitch and once for the results, with objects of its own.
 */

/** Calls work, and returns its result. */
export type Run = <T>(work: () => T) => T

/** Replaces the functions of a loader, also those that the tool sets when it has loaded the loader. False if the tool does not allow that. */
export function surroundLoader(loader: object, run: Run): boolean {
  return ['pitch', 'normal'].every((name) => surroundFunction(loader, name, run))
}

function surroundFunction(loader: object, name: string, run: Run): boolean {
  const surrounded = (given: unknown): unknown => {
    if (typeof given !== 'function') return given
    return function (this: unknown, ...args: unknown[]): unknown {
      return run(() => Reflect.apply(given, this, args))
    }
  }
  let current = surrounded(Reflect.get(loader, name))
  return Reflect.defineProperty(loader, name, {
    configurable: true,
    enumerable: true,
    get: () => current,
    set: (given: unknown) => {
      current = surrounded(given)
    },
  })
}

/**
 * Sizes of files, as `stat` and `lstat` return them. Most code asks only what a path is, so a file whose size is taken counts as read then: its
 * content is an input. Times do not count: a checkout changes them and means nothing by it.
 */
import type { Sink } from './sink.ts'
import { isCallable } from './wrapper.ts'

/** Watches what a call returns, promises, or gives to its callback, which is the last of `args`. */
export function noteSize(sink: Sink, path: string, args: readonly unknown[]): (result: unknown) => unknown {
  const callback = args.at(-1)
  if (isCallable(callback)) {
    Reflect.set(args, args.length - 1, function (this: unknown, error: unknown, stats: unknown): unknown {
      return Reflect.apply(callback, this, stats === undefined ? [error] : [error, watched(sink, path, stats)])
    })
  }
  return (result) =>
    result instanceof Promise ? result.then((stats) => watched(sink, path, stats)) : watched(sink, path, result)
}

/** The statistics of a file, whose size is a property that reports its use. */
function watched(sink: Sink, path: string, stats: unknown): unknown {
  if (typeof stats !== 'object' || stats === null || !isFile(stats)) return stats
  const property = Object.getOwnPropertyDescriptor(stats, 'size')
  if (property === undefined || !('value' in property) || property.configurable !== true) return stats
  const { value, enumerable = true }: { value?: unknown; enumerable?: boolean } = property
  const define = (size: unknown): void =>
    void Object.defineProperty(stats, 'size', { value: size, configurable: true, enumerable, writable: true })
  const get = (): unknown => {
    sink.read('content', path, true)
    return value
  }
  return Object.defineProperty(stats, 'size', { configurable: true, enumerable, get, set: define })
}

function isFile(stats: object): boolean {
  const ask: unknown = Reflect.get(stats, 'isFile')
  return isCallable(ask) && Reflect.apply(ask, stats, []) === true
}

/** Tells webpack's own reads, through its input file system, from those of loaders and plugins: webpack compares what it reads itself. */
import type { Compiler } from 'webpack'

/** Depth of calls to webpack's input file system on this stack. */
let depth = 0
const wrapped: WeakSet<object> = new WeakSet()

/** Whether the code that runs now was called by webpack's input file system. */
export function isReadOfWebpack(): boolean {
  return depth > 0
}

/** Wraps the methods of webpack's file system, once. */
export function wrapFileSystem(fileSystem: Compiler['inputFileSystem']): void {
  if (fileSystem === null || wrapped.has(fileSystem)) return
  wrapped.add(fileSystem)
  const names = ['stat', 'lstat', 'readdir', 'readFile', 'readJson', 'readlink', 'realpath']
  for (const name of names.flatMap((one) => [one, `${one}Sync`])) {
    const method: unknown = Reflect.get(fileSystem, name)
    if (typeof method !== 'function') continue
    Reflect.set(fileSystem, name, (...args: unknown[]): unknown => {
      depth += 1
      try {
        return Reflect.apply(method, fileSystem, args)
      } finally {
        depth -= 1
      }
    })
  }
}

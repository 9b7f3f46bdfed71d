/** The file that this code runs from: a module of this package, or the bundle of a tool that contains Varve. */
import { builtin } from './builtin.ts'

/**
 * The path of the file; undefined if there is none, as in an executable that contains its code. In CommonJS, bundlers replace
 * `import.meta.url` by nothing, or by a path of the machine that made the bundle.
 */
export function codeFile(): string | undefined {
  const path = commonJsFile() ?? moduleFile()
  return path !== undefined && builtin('node:fs')?.existsSync(path) === true ? path : undefined
}

/** ES modules have no `__filename`, or a global one that is not a file, as in a worker whose program is a text. */
function commonJsFile(): string | undefined {
  try {
    return __filename === Reflect.get(globalThis, '__filename') ? undefined : __filename
  } catch {
    return undefined
  }
}

function moduleFile(): string | undefined {
  try {
    return builtin('node:url')?.fileURLToPath(import.meta.url)
  } catch {
    return undefined // a URL of another kind, or a path of another system
  }
}

/** The end of that path, from the directory of this package on; undefined in the bundle of a tool. */
export function packagePath(): string | undefined {
  return /\/(?:varve|package)\/(?:src|dist)\/.*$/.exec((codeFile() ?? '').replaceAll('\\', '/'))?.[0]
}

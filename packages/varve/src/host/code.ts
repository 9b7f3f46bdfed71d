/** The file that this code runs from: a module of this package, or the bundle of a tool that contains Varve. */
import { builtin } from './builtin.ts'

/**
 * The path of the file; undefined if there is none, as in an executable that contains its code. In CommonJS, bundlers replace
 * `import.meta.url` by nothing, or by a path of the machine that made the bundle.
 */
export function codeFile(): string | undefined {
  const files = builtin('node:fs')
  try {
    const path = commonJsFile() ?? builtin('node:url')?.fileURLToPath(import.meta.url)
    return path !== undefined && files?.existsSync(path) === true ? path : undefined
  } catch {
    return undefined // a URL of another kind, or a path of another system
  }
}

/** Only CommonJS has `__filename`. */
function commonJsFile(): string | undefined {
  try {
    return __filename
  } catch {
    return undefined
  }
}

/** Whether this code is part of a bundle that is not this package's own. */
export function isBundled(): boolean {
  return !/[\\/](?:varve|package)[\\/](?:src|dist)[\\/]/.test(codeFile() ?? '')
}

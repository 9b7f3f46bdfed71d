/**
 * The modules that a result leads to: those that its code imports and the source does not, and those that it emits. If nothing but the
 * plugin can load one of them, a later build that takes the result from the cache may not be able to:
 *
 *   import 'virtual:page.css'      the plugin's hooks resolve and load it, from what the skipped call would have kept
 *   import './page.js?styles'      as above, by a query
 *   import './words.js'            a file, which every tool loads
 */
import { createRequire, isBuiltin } from 'node:module'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fileAt, IMPORT, nameIn } from './modules.ts'
import { disk } from '../host/files.ts'

/** A reason against caching. */
export const LEADS_TO_OWN = 'leads to a module that only the plugin can load'

/** What a result has besides the source that it was made from. */
export interface Result {
  readonly code: string
  /** The code before; imports that it has are not made by the plugin. */
  readonly source: string
  /** Modules that the call emitted. */
  readonly emitted: readonly string[]
}

/** Whether a tool can load all modules that a result leads to. `folders`: that of the module, and the root. */
export function leadsToFiles({ code, source, emitted }: Result, folders: readonly string[]): boolean {
  const imported = Array.from(code.matchAll(IMPORT), ([, , specifier = '']) => specifier)
  const added = [...new Set([...imported.filter((specifier) => !source.includes(specifier)), ...emitted])]
  return added.every((specifier) => isLoadable(specifier, folders))
}

function isLoadable(specifier: string, folders: readonly string[]): boolean {
  if (isBuiltin(specifier) || /^(?:https?|data):/.test(specifier)) return true
  if (specifier.startsWith('file:')) return isLoadable(fileURLToPath(specifier), folders)
  const isPath = /^\.{0,2}(?:[\\/]|$)/.test(specifier) || isAbsolute(specifier)
  return folders.some((folder) => (isPath ? isFileFor(specifier, folder) : isPackageFor(specifier, folder)))
}

/** Tools that serve a directory name files in it by paths that begin with a slash. */
function isFileFor(specifier: string, folder: string): boolean {
  return fileAt(resolve(folder, specifier)).length > 0 || fileAt(join(folder, specifier)).length > 0
}

function isPackageFor(specifier: string, folder: string): boolean {
  const require = createRequire(join(folder, 'package.json'))
  try {
    require.resolve(specifier)
    return true
  } catch (error) {
    // `require` does not find what a package exports for `import` only.
    if (error instanceof Error && 'code' in error && error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') return true
    const bases = nameIn(specifier) === specifier ? (require.resolve.paths(specifier) ?? []) : []
    return bases.some((base) => disk.existsSync(join(base, specifier, 'package.json')))
  }
}

/** The directories from which the specifiers of a module are resolved. */
export function foldersFor(path: string | undefined, root: string): readonly string[] {
  return path === undefined ? [root] : [dirname(path), root]
}

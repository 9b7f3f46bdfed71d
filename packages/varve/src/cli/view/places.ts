/** The places of entries in the tree. */
import { RESULTS_PREFIX } from '../../task/names.ts'
import { isWellFormed } from '../../values/bytes.ts'
import type { Key } from '../../values/key.ts'
import { escapeKey } from '../output/escape.ts'

const PACKAGE = /^(?:@[^/]+\/)?[^/]+/
const MODULES = 'node_modules/'

/** The directory of a key that names none. */
const TOP = '.'

/** Where an entry is in its group: package or directory, and module. */
export type Place = readonly [parent: string, module: string]

/** The places of the keys of a namespace. */
export function placesOf(namespace: string): (key: Key) => Place {
  const isResult = namespace.startsWith(RESULTS_PREFIX)
  return (key) => {
    if (typeof key !== 'string') return [TOP, escapeKey(key)]
    // The key of a result is the id, NUL and a digest; an id may itself begin with NUL.
    const id = isResult ? key.slice(0, Math.max(key.lastIndexOf('\0'), 0)) : key
    return [parentOf(folderOf(key)), id]
  }
}

/** The folder of a key as the engine's `scanFolders` has it. */
export function folderOf(key: Key): string {
  if (typeof key !== 'string') return ''
  const query = key.indexOf('?')
  const path = query < 0 ? key : key.slice(0, query)
  const end = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1
  return isWellFormed(key) ? path.slice(0, end) : ''
}

/** The installed package of a folder, or else its first two directories. */
export function parentOf(folder: string): string {
  const path = folder.includes('\\') ? folder.replaceAll('\\', '/') : folder
  const start = path.lastIndexOf(MODULES)
  if (start >= 0) return PACKAGE.exec(path.slice(start + MODULES.length))?.[0] ?? MODULES
  const first = path.indexOf('/') + 1
  if (first === 0) return TOP
  return path.slice(0, path.indexOf('/', first) + 1 || first)
}

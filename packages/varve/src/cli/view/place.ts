/** The place of an entry in the tree, by its namespace and key. */
import { RESULTS_PREFIX } from '../../task/names.ts'
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
    return [parentOf(id), id]
  }
}

/** The installed package of a module, or else its first two directories. Called for each entry, so it splits nothing. */
function parentOf(id: string): string {
  const path = pathOf(id)
  const start = path.lastIndexOf(MODULES)
  if (start >= 0) return PACKAGE.exec(path.slice(start + MODULES.length))?.[0] ?? MODULES
  const first = path.indexOf('/') + 1
  if (first === 0) return TOP
  return path.slice(0, path.indexOf('/', first) + 1 || first)
}

function pathOf(id: string): string {
  const query = id.indexOf('?')
  const path = query < 0 ? id : id.slice(0, query)
  return path.includes('\\') ? path.replaceAll('\\', '/') : path
}

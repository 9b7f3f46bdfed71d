/**
 * What an environment has outside of the root. Tools look for configs in the directories above the root, too, and another
 * checkout has other directories there:
 *
 *   looked for, and missing   /home/me/.browserslistrc   its name must be missing in every directory above the root
 *   read                      /home/me/.browserslistrc   the environment is bound to this root
 *   read                      /usr/lib/tool.js           an ordinary path, the same for every checkout
 */
import { dirname, join, relative, sep } from 'node:path'
import { disk } from '../host/files.ts'

/** The environment of a root, seen from its directories above. */
export interface Above {
  /** Names that are missing in every directory above the root. */
  readonly names: ReadonlySet<string>
  /** Whether the environment depends on where the root is. */
  readonly isBound: boolean
}

const BOUND: Above = { names: new Set(), isBound: true }

/** What an environment that depends on these absolute paths has above its root. One that is bound needs no names. */
export function aboveOf(root: string, paths: readonly string[]): Above {
  const outer = foldersAbove(root)
  const names = new Set<string>()
  for (const path of paths) {
    const isNext = isNear(root, outer, path)
    if (!isNext && (isIn(root, path) || !outer.includes(dirname(path)))) continue
    const kind = kindOf(path)
    if (kind === 'missing') names.add(relative(outer.find((folder) => isIn(folder, path)) ?? '', path))
    else if (isNext || kind === 'file') return BOUND
  }
  return presentAbove(root, names).length === 0 ? { names, isBound: false } : BOUND
}

/** The paths of these names in the directories above the root. */
export function pathsAbove(root: string, names: Iterable<string>): string[] {
  return Array.from(names).flatMap((name) => foldersAbove(root).map((folder) => join(folder, name)))
}

/** Those of the paths that exist. Looking for them is no read of the build. */
export function presentAbove(root: string, names: Iterable<string>): string[] {
  return pathsAbove(root, names).filter((path) => disk.existsSync(path))
}

/** The directories above a root, the nearest first. */
function foldersAbove(root: string): string[] {
  const parent = dirname(root)
  return parent === root ? [] : [parent, ...foldersAbove(parent)]
}

/** Whether a path is next to the root, or in the packages of a directory above it. Those directories themselves are not. */
function isNear(root: string, outer: readonly string[], path: string): boolean {
  if (isIn(root, path) || outer.includes(path)) return false
  const [parent = root] = outer
  const isNextToRoot = dirname(parent) !== parent && isIn(parent, path)
  return isNextToRoot || outer.some((folder) => isIn(join(folder, 'node_modules'), path))
}

function isIn(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

function kindOf(path: string): 'missing' | 'file' | 'folder' {
  try {
    return disk.statSync(path).isDirectory() ? 'folder' : 'file'
  } catch {
    return 'missing' // or not readable
  }
}

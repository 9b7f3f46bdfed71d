/** Walks a folder: names and kinds only, sorted, links never followed. The engine looks again at what it opens. */
import type { Dirent } from 'node:fs'
import type * as fs from 'node:fs'
import { refused, VarveError } from '../errors.ts'
import { codeOf } from '../host/permission.ts'

/** What stands at a path. */
export interface Found {
  /** Relative to where the walk began, parts separated by '/'. */
  readonly path: string
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  /** A folder that has nothing in it. */
  readonly isEmpty: boolean
}

/** Folders in folders at most, as in the rules of paths; a loop of mounts has no end. */
const DEPTH_MAX = 128

/** The temporary file of a restore or an export, with the number of its process. */
const TEMPORARY = /^\.varve-(\d+)-\d+\.tmp$/

/** Whether a name is that of a temporary file: one that a dead process left, or one in use. */
export function isLeftover(name: string): 'left' | 'in use' | undefined {
  const owner = Number(TEMPORARY.exec(name)?.[1])
  if (Number.isNaN(owner)) return undefined
  if (owner === process.pid) return 'in use'
  try {
    process.kill(owner, 0)
    return 'in use'
  } catch (error) {
    return codeOf(error) === 'ESRCH' ? 'left' : 'in use'
  }
}

/**
 * Everything below `root`, each folder before what it holds. Rejects with UNSAFE_PATH for a name that is not UTF-8, unless
 * `skipsForeign`, and with CANCELLED.
 */
export async function walk(
  files: typeof fs,
  root: string,
  signal: AbortSignal | undefined,
  skipsForeign: boolean,
): Promise<Found[]> {
  const found: Found[] = []
  const visit = async (folder: string, depth: number): Promise<number> => {
    if (signal?.aborted === true) throw new VarveError('CANCELLED', 'stopped on request', { cause: signal.reason })
    if (depth > DEPTH_MAX) throw refused(folder, `has more than ${DEPTH_MAX} folders in each other`)
    const names = await files.promises.readdir(folder === '' ? root : `${root}/${folder}`, { withFileTypes: true })
    for (const entry of names) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.name.includes('\ufffd')) {
        if (skipsForeign) continue
        throw refused(path, 'is not UTF-8')
      }
      if (!skipsForeign && TEMPORARY.test(entry.name)) continue
      const kind = kindOf(entry)
      const index = found.push({ path, kind, isEmpty: false }) - 1
      if (kind === 'folder') found[index] = { path, kind, isEmpty: (await visit(path, depth + 1)) === 0 }
    }
    return names.length
  }
  await visit('', 1)
  return found
}

function kindOf(entry: Dirent): Found['kind'] {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'folder'
  return entry.isSymbolicLink() ? 'link' : 'other'
}

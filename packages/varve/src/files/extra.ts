/** What a target has that a manifest does not. */
import type * as fs from 'node:fs'
import { VarveError } from '../errors.ts'
import { codeOf } from '../host/permission.ts'
import { type FileEntry, isFile } from '../values/manifest.ts'
import { type Found, walk } from './walk.ts'

/** Paths below `root` to be removed, in that order: what a folder holds before the folder. */
export async function findExtra(
  files: typeof fs,
  root: string,
  entries: readonly FileEntry[],
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const kinds = kindsOf(entries)
  let found: Found[]
  try {
    found = await walk(files, root, signal, true)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    if (error instanceof VarveError) throw error
    throw new VarveError('IO', `cannot look at '${root}': ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
  const extra: string[] = []
  // From the end, so that what a folder holds comes first. A file is replaced by a file, a link by a link, without removing.
  for (let index = found.length - 1; index >= 0; index--) {
    const one = found[index]
    if (one !== undefined && kinds.get(one.path) !== one.kind) extra.push(one.path)
  }
  return extra
}

/** What the manifest has at each path, with the folders above. */
function kindsOf(entries: readonly FileEntry[]): Map<string, Found['kind']> {
  const kinds = new Map<string, Found['kind']>()
  for (const entry of entries) {
    kinds.set(entry.path, isFile(entry) ? 'file' : 'link' in entry ? 'link' : 'folder')
    for (let slash = entry.path.lastIndexOf('/'); slash > 0; slash = entry.path.lastIndexOf('/', slash - 1)) {
      const folder = entry.path.slice(0, slash)
      if (kinds.get(folder) === 'folder') break
      kinds.set(folder, 'folder')
    }
  }
  return kinds
}

/** Opens files of any type: files in a target, and files of the cache. */
import type * as fs from 'node:fs'
import { hasProc } from './tree-folder.ts'

/** Opens a file without following a link or waiting for the other end of a FIFO. */
export function openAny(files: typeof fs, path: string): number {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = files.constants
  return files.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
}

/** A file of the cache, with a path to the open file; undefined if it is not a regular file of that length. */
export function openStored(
  files: typeof fs,
  place: string,
  size: number,
): { readonly handle: number; readonly path: string } | undefined {
  let handle = -1
  try {
    handle = openAny(files, place)
    const stat = files.fstatSync(handle)
    if (stat.isFile() && stat.size === size) return { handle, path: hasProc(files) ? `/proc/self/fd/${handle}` : place }
  } catch {
    // It does not exist or cannot be opened.
  }
  if (handle >= 0) files.closeSync(handle)
  return undefined
}

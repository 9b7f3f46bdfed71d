/**
 * A file that a caller names for output. It is written beside its place under another name and then renamed, so that it is complete or
 * as it was before. A device, a pipe or a socket, such as `/dev/null` and `/dev/stdout`, takes the bytes and is never replaced.
 */
import { builtin } from '../host/builtin.ts'
import { randomBits } from '../host/random.ts'
import { hostFiles, onDisk } from './spool.ts'

/** Writes the file `path`: `write` gets the path to write to, and whether it creates a file there. */
export async function intoPlace<T>(path: string, write: (to: string, creates: boolean) => Promise<T>): Promise<T> {
  const files = hostFiles().promises
  const place = await onDisk(placeOf(path))
  if (place === undefined) return write(path, false)
  const random = randomBits()
  const temporary = `${builtin('node:path')?.dirname(place) ?? '.'}/.varve-${process.pid}-${random}.tmp`
  try {
    const written = await write(temporary, true)
    await onDisk(files.rename(temporary, place))
    return written
  } catch (error) {
    await files.rm(temporary, { force: true }).catch(() => {}) // its directory may be gone
    throw error
  }
}

/** The path to rename to: that of the file that a link leads to, because links such as `/dev/stdout` belong to the system. Undefined: none. */
async function placeOf(path: string): Promise<string | undefined> {
  const files = hostFiles().promises
  const found = await files.stat(path).catch(() => undefined)
  if (found === undefined || found.isDirectory()) return path
  return found.isFile() ? files.realpath(path) : undefined
}

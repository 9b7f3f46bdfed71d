/**
 * Makes directories. The recursion of `node:fs` has no end where a directory exists and nothing can be made in it although the
 * system answers ENOENT, as in `/proc/self/fd` and in a removed directory. Here each directory is tried twice at most.
 */
import { dirname } from 'node:path'
import { codeOf } from './error-code.ts'
import { disk } from './host.ts'

/** Makes a directory and those above it that do not exist. Rejects with what the system answers. */
export async function makeDirectory(folder: string, mode = 0o777): Promise<void> {
  const missing: string[] = []
  for (let at = folder; !(await isMade(at, mode)); at = dirname(at)) {
    missing.push(at)
    if (dirname(at) === at) break
  }
  for (const each of missing.toReversed())
    await disk.promises.mkdir(each, { mode }).catch((error: unknown) => unlessThere(each, error))
}

/** Whether the directory exists now; false if the one above it does not. */
async function isMade(folder: string, mode: number): Promise<boolean> {
  try {
    await disk.promises.mkdir(folder, { mode })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    await unlessThere(folder, error)
  }
  return true
}

async function unlessThere(folder: string, error: unknown): Promise<void> {
  const isThere = await disk.promises.stat(folder).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  if (!isThere) throw error
}

/**
 * How a remote uses this machine: its file system and environment, so that what it reads is no read of the build that opens a cache over it,
 * directories, and how much work it does at one time.
 */
import fs from 'node:fs'
import { ownEnv, ownFiles } from 'varve/internal'
import { dirname } from 'node:path'
import { codeOf } from './error-code.ts'

export { ownEnv as environment }

export const disk: typeof fs = ownFiles(fs)

// Directories: the recursion of `node:fs` has no end where a directory exists and nothing can be made in it although the
// system answers ENOENT, as in `/proc/self/fd` and in a removed directory. Here each directory is tried twice at most.

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

/** Requests at one time: enough to fill a connection of 100 MB/s at 60 ms. */
export const AT_ONCE = 8

/** Runs work, at most `AT_ONCE` at a time, in the order in which it is given. After a failure no further work begins. */
export class Gate {
  #free = AT_ONCE
  #failure: { readonly error: unknown } | undefined
  readonly #waiting: (() => void)[] = []

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      if (this.#failure !== undefined) throw this.#failure.error
      return await work()
    } catch (error) {
      this.#failure ??= { error }
      throw error
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}

/** Waits until all have ended, so that none of them writes to a directory that the caller removes; rejects if one has failed. */
export async function allEnded(all: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(all)) if (outcome.status === 'rejected') throw outcome.reason
}

/** Runs `work` for all items, as a gate does, and waits until all have ended. */
export function forEachAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const gate = new Gate()
  return allEnded([...items].map((item) => gate.run(() => work(item))))
}

/**
 * Files that this process has in memory: configs, loaders, packages, and what these have read. An environment has them as they are when it is
 * recorded, after a build. If one has changed since the process began to use it, no digest describes what the results were made with.
 *
 *   a file of code          as it was when any compiler of the process first knew it: Node.js loads it once
 *   a file that was read    as it was when this compiler first read it
 */
import { isAbsolute } from 'node:path'
import { changedMsOf, lookAt, stampOf } from '../build/files.ts'
import { isInstalled, manifestOf } from '../build/modules.ts'

/** Stamps of code, by path. */
const code: Map<string, string> = new Map()

/** The stamp of a file that was written while the process may have loaded it. */
const UNKNOWN = 'unknown'

/** The files that one compiler uses. */
export class InUse {
  readonly #read: Map<string, string> = new Map()

  /** Called when the compiler is about to read a file, or has not found one. */
  noteRead(path: string): void {
    if (!this.#read.has(path)) this.#read.set(path, stampOf(lookAt(path)))
  }

  /**
   * Called with code that the process has loaded since that time. What was written later, but not by the process, may be newer than that.
   * Names of packages are left out.
   */
  noteCode(paths: Iterable<string>, sinceMs: number, isWritten: (path: string) => boolean): void {
    for (const path of paths) {
      if (!isAbsolute(path)) continue
      const key = keyOf(path)
      if (code.has(key)) continue
      const look = lookAt(key)
      code.set(key, changedMsOf(look) > sinceMs && !isWritten(key) ? UNKNOWN : stampOf(look))
    }
  }

  /** Those of these files that are no longer what is in memory. */
  changed(paths: Iterable<string>, isWritten: (path: string) => boolean): string[] {
    const keys = new Set(Array.from(paths, keyOf))
    return [...keys].filter((key) => {
      const now = stampOf(lookAt(key))
      return (
        [this.#read.get(key), code.get(key)].some((stamp) => stamp !== undefined && stamp !== now) && !isWritten(key)
      )
    })
  }
}

/** The file that stands for a path: of an installed package, its package.json. */
function keyOf(path: string): string {
  return isInstalled(path) ? (manifestOf(path) ?? path) : path
}

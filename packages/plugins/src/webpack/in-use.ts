/**
 * Files that this process has in memory: configs, loaders, packages, and what these have read. An environment has them as they are when it is
 * recorded, after a build. If one has changed since the process began to use it, no digest describes what the results were made with.
 *
 *   a file of code          as it was when any compiler of the process first knew it: Node.js loads it once
 *   a file that was read    as it was when this compiler first read it
 */
import { type Stats, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { unrecordedNow } from 'varve/reads'
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
    if (!this.#read.has(path)) this.#read.set(path, stampOf(path))
  }

  /**
   * Called with code that the process has loaded since that time. What was written later, but not by the process, may be newer than that.
   * Names of packages are left out.
   */
  noteCode(paths: Iterable<string>, sinceMs: number, isWritten: (path: string) => boolean): void {
    for (const path of paths) {
      if (!isAbsolute(path)) continue
      const key = keyOf(path)
      if (!code.has(key)) code.set(key, changedMsOf(key) > sinceMs && !isWritten(key) ? UNKNOWN : stampOf(key))
    }
  }

  /** Those of these files that are no longer what is in memory. */
  changed(paths: Iterable<string>, isWritten: (path: string) => boolean): string[] {
    const keys = new Set(Array.from(paths, keyOf))
    return [...keys].filter((key) => {
      const now = stampOf(key)
      return [this.#read.get(key), code.get(key)].some((stamp) => stamp !== undefined && stamp !== now) && !isWritten(key)
    })
  }
}

/** The file that stands for a path: of an installed package, its package.json. */
function keyOf(path: string): string {
  return isInstalled(path) ? (manifestOf(path) ?? path) : path
}

function stampOf(path: string): string {
  const look = lookAt(path)
  return look === undefined ? '' : `${look.size} ${look.mtimeMs} ${look.ctimeMs} ${look.ino}`
}

function changedMsOf(path: string): number {
  const look = lookAt(path)
  return look === undefined ? 0 : Math.max(look.mtimeMs, look.ctimeMs)
}

function lookAt(path: string): Stats | undefined {
  try {
    return unrecordedNow(() => statSync(path, { throwIfNoEntry: false }))
  } catch {
    return undefined
  }
}

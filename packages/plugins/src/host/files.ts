/**
 * The host as plugins of Varve use it themselves: what they read is no read of the work that they record. Code of a tool that Varve calls reads
 * by functions of its own, so each such call states whether it is recorded. Files may be missing, or may not be files.
 */
import fs, { type Stats } from 'node:fs'
import { ownEnv, ownFiles } from 'varve/internal'
import { unrecorded } from 'varve/reads'

export const disk: typeof fs = ownFiles(fs)

/** The environment now. */
export function environment(): NodeJS.ProcessEnv {
  return ownEnv()
}

/** Runs code of the tool or of Node.js, and what it begins: none of it is work that is recorded. */
export function runForeign<T>(work: () => T): T {
  return unrecorded(work)
}

/** Time in which two writes may leave the same time, at most: the two seconds of FAT. */
export const COARSE_TICK_MS: number = 2000

export function isFile(path: string): boolean {
  try {
    return disk.statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
  } catch {
    return false
  }
}

/** What a path is now; undefined if it is missing or cannot be looked at. */
export function lookAt(path: string): Stats | undefined {
  try {
    return disk.statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** What differs after a change of a file; empty without one. */
export function stampOf(look: Stats | undefined): string {
  return look === undefined ? '' : `${look.size} ${look.mtimeMs} ${look.ctimeMs} ${look.ino}`
}

/** When a file was changed last; 0 without one. */
export function changedMsOf(look: Stats | undefined): number {
  return look === undefined ? 0 : Math.max(look.mtimeMs, look.ctimeMs)
}

/** The text of a file; undefined if it cannot be read. */
export function textOf(path: string, encoding: 'utf8' | 'latin1' = 'utf8'): string | undefined {
  try {
    return disk.readFileSync(path, encoding)
  } catch {
    return undefined
  }
}

/** The names in a directory, in order; none if it cannot be read. */
export function namesOf(folder: string): string[] {
  try {
    return disk.readdirSync(folder).sort()
  } catch {
    return []
  }
}

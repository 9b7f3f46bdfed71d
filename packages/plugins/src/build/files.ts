/** Looks at files that may be missing, or may not be files. */
import { readFileSync, statSync } from 'node:fs'

export function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
  } catch {
    return false
  }
}

/** The text of a file; undefined if it cannot be read. */
export function textOf(path: string, encoding: 'utf8' | 'latin1' = 'utf8'): string | undefined {
  try {
    return readFileSync(path, encoding)
  } catch {
    return undefined
  }
}

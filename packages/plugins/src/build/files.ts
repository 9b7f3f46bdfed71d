/** Looks at files that may be missing, or may not be files. */
import { readdirSync, readFileSync, statSync } from 'node:fs'

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

/** The names in a directory, in order; none if it cannot be read. */
export function namesOf(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

/** The folders of a namespace, of which the second pass reads those that are listed. */
import type { EngineFolders } from '../../engine/engine.ts'

/** Folders in memory. Of a namespace that has more, the second pass reads all entries. */
const FOLDERS_MAX = 100_000

/** A set of bounded size. */
export class Folders {
  readonly #names: Set<string> = new Set()

  /** Adds a folder if there is room. */
  add(folder: string): void {
    if (this.#names.size <= FOLDERS_MAX) this.#names.add(folder)
  }

  /** Those that are listed, packed for the engine; undefined for all. */
  chosen(isListed: (folder: string) => boolean): EngineFolders | undefined {
    if (this.#names.size > FOLDERS_MAX) return undefined
    const chosen = [...this.#names].filter(isListed).map((folder) => Buffer.from(folder))
    let end = 0
    return { keys: Buffer.concat(chosen), keyEnds: Uint32Array.from(chosen, ({ length }) => (end += length)) }
  }
}

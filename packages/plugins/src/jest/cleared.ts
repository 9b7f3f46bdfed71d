/**
 * `jest --clearCache` removes Jest's cache directory and loads no transformer, so the next run finds out:
 *
 *   <cacheDirectory>/varve            is gone after the directory was cleared
 *   <temporary directory>/varve-jest-<digest of its path>    stays then, and is gone on a fresh machine, which has cleared nothing
 */
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { makeDirectory } from 'varve/internal'
import { digestOfTexts } from '../build/digest.ts'
import { disk } from '../host/files.ts'

/** Jest's cache directory, as this process found it. */
export class JestDirectory {
  readonly #mark: string
  readonly #witness: string

  constructor(folder: string) {
    this.#mark = join(folder, 'varve')
    this.#witness = join(tmpdir(), `varve-jest-${digestOfTexts([folder])}`)
  }

  /** Whether it was cleared since the last call of `note` on this machine. */
  get wasCleared(): boolean {
    return !disk.existsSync(this.#mark) && disk.existsSync(this.#witness)
  }

  /** Called when no entry from before is left. Without a directory to write to, clearing goes unnoticed. */
  note(): void {
    try {
      makeDirectory(disk, dirname(this.#mark))
      for (const path of [this.#mark, this.#witness]) if (!disk.existsSync(path)) disk.writeFileSync(path, '')
    } catch {
      // Read-only, as in a sandbox.
    }
  }
}

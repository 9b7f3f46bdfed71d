/** The present that variants are compared with, each thing looked at once per run. */
import { digestOf, digestOfVariable } from '../inputs/digest.ts'
import { Files } from '../inputs/files.ts'
import { type FileReads } from '../inputs/stamp.ts'
import type { Root } from '../inputs/root.ts'

/** Files, environment and added inputs as they are during one run. */
export class Present {
  readonly files: Files
  readonly #added: ReadonlyMap<string, string>
  #env: Map<string, string> | undefined

  /** `added`: digests of the inputs that earlier runs added, by name. */
  constructor(files: FileReads, root: Root, added: ReadonlyMap<string, string>) {
    this.files = new Files(files, root)
    this.#added = added
  }

  /** Digest of an environment variable. */
  env(name: string): string {
    this.#env ??= new Map()
    const known = this.#env.get(name)
    if (known !== undefined) return known
    const digest = digestOfVariable(name)
    this.#env.set(name, digest)
    return digest
  }

  /** Digest of an input that an earlier run added; undefined if it could not be found. */
  added(name: string): string | undefined {
    return this.#added.get(name)
  }
}

/** The digests of what `find` finds for these names; without those for which it throws. */
export async function findAdded(
  names: ReadonlySet<string>,
  id: string,
  find: (name: string, id: string) => unknown,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const name of names) {
    try {
      found.set(name, digestOf(await find(name, id), name))
    } catch {
      // An input that cannot be found is a miss; the work then reports the problem.
    }
  }
  return found
}

/** `examine` of `degraded.ts` on the machine this runs on. */
import { builtin } from './builtin.ts'
import { type Degraded, examine } from './degraded.ts'
import type { CacheOptions } from './options.ts'

/** What keeps the folder, with its folder `name`, from being used; undefined on hosts without files. */
export function examineHere(dir: string, name: string, options: Pick<CacheOptions, 'shared' | 'readOnly'>): Degraded | undefined {
  const [files, paths] = [builtin('node:fs'), builtin('node:path')]
  if (files === undefined || paths === undefined) return undefined
  const { shared = false, readOnly = false } = options
  return examine(dir, name, { files, paths, user: globalThis.process?.geteuid?.(), isShared: shared, isReader: readOnly })
}

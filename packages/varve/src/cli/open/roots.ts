/**
 * The root of a task. A cache does not have it: it differs between checkouts, and bundlers have one of their own, such as that of an application
 * in a monorepo. So it is the directory, among those above, below which most files are that results depend on.
 */
import * as fs from 'node:fs'
import * as paths from 'node:path'
import { projectDirectory } from '../../health/directory.ts'
import { Root } from '../../inputs/root.ts'
import type { IdRecord } from './tasks.ts'

/** Files of a record that are looked for. */
const FILES_MAX = 100

/** The one that is given; otherwise that of the project, and the directories above the working directory and above a file. */
export function candidateRoots(given: string | undefined, file?: string): readonly Root[] {
  const folders =
    given === undefined
      ? [projectDirectory(), ...above(process.cwd()), ...(file === undefined ? [] : above(paths.dirname(file)))]
      : [paths.resolve(given)]
  return [...new Set(folders)].map((folder) => new Root(folder, paths))
}

/** The root of the task that a record is of. Of several that are as likely, the first one. */
export function rootOf({ variants }: IdRecord, [first, ...others]: readonly Root[]): Root {
  if (first === undefined) return new Root(projectDirectory(), paths)
  const files = [...new Set(variants.flatMap((variant) => variant.files.map(([path]) => path)))].slice(0, FILES_MAX)
  const count = (root: Root): number => files.filter((path) => fs.existsSync(root.absolute(path))).length
  let best = first
  let most = count(first)
  for (const root of others) {
    const found = count(root)
    if (found > most) best = root
    most = Math.max(most, found)
  }
  return best
}

/** A directory and those above it. */
function above(folder: string): string[] {
  const parent = paths.dirname(folder)
  return parent === folder ? [folder] : [folder, ...above(parent)]
}

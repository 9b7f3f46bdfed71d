/** The dependencies of a chain of loaders: reported by its context, and as the files that a task watches. */
import { join } from 'node:path'
import { changedMsOf, COARSE_TICK_MS } from '../build/files.ts'
import { Uncacheable } from '../build/uncacheable.ts'
import type { ChainContext } from './context.ts'
import { disk } from '../host/files.ts'

/** Limit of the files that a chain depends on. Checking more would cost more than the loaders. */
const FILES_MAX = 10_000

/** Time in which two writes may get the same timestamp: a tick of the system clock. */
const TICK_MS = 20

/** Absolute paths, by kind of dependency. */
export interface Dependencies {
  readonly files: readonly string[]
  readonly folders: readonly string[]
  readonly missing: readonly string[]
}

/** The dependencies that have been reported so far. */
export function dependenciesOf(context: ChainContext): Dependencies {
  return {
    files: [...new Set(context.getDependencies())].sort(),
    folders: [...new Set(context.getContextDependencies())].sort(),
    missing: [...new Set(context.getMissingDependencies?.() ?? [])].sort(),
  }
}

/** Reports dependencies again. */
export function addDependencies(context: ChainContext, { files, folders, missing }: Dependencies): void {
  for (const path of files) context.addDependency(path)
  for (const path of folders) context.addContextDependency(path)
  for (const path of missing) context.addMissingDependency(path)
}

/**
 * All files that the result depends on, including those below directories. Throws Uncacheable if one has changed since
 * `startMs`, because the loaders may have read its previous content.
 */
export function watchedBy({ files, folders, missing }: Dependencies, startMs: number): string[] {
  const watched = [...files, ...missing, ...folders.flatMap((folder) => [folder, ...pathsBelow(folder)])]
  if (watched.length > FILES_MAX) throw new Uncacheable('depends on folders with too many files')
  for (const path of watched) {
    if (isYoung(path, startMs)) throw new Uncacheable('depends on a file that changes')
  }
  return watched
}

/** Whether a file may have changed after `startMs`. */
function isYoung(path: string, startMs: number): boolean {
  const stats = disk.statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return false
  const tickMs = stats.ctimeMs % 1000 === 0 ? COARSE_TICK_MS : TICK_MS
  return changedMsOf(stats) > startMs - tickMs
}

function pathsBelow(folder: string): string[] {
  if (disk.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return []
  const entries = disk.readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return entries.map((entry) => join(folder, entry))
}

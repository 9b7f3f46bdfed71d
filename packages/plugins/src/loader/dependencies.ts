/** The files that a chain of loaders depends on, as a loader context tells them and as a task takes them. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Uncacheable } from '../build/uncacheable.ts'
import type { ChainContext } from './context.ts'

/** More files below a folder would cost more than the loaders. */
const FILES_MAX = 10_000

/** Changes that leave the same time as what was before them, milliseconds. */
const TICK_MS = 20

/** By kind, absolute. */
export interface Dependencies {
  readonly files: readonly string[]
  readonly folders: readonly string[]
  readonly missing: readonly string[]
}

/** What was told so far. */
export function dependenciesOf(context: ChainContext): Dependencies {
  return {
    files: [...new Set(context.getDependencies())].sort(),
    folders: [...new Set(context.getContextDependencies())].sort(),
    missing: [...new Set(context.getMissingDependencies?.() ?? [])].sort(),
  }
}

/** Tells them again. */
export function addDependencies(context: ChainContext, { files, folders, missing }: Dependencies): void {
  for (const path of files) context.addDependency(path)
  for (const path of folders) context.addContextDependency(path)
  for (const path of missing) context.addMissingDependency(path)
}

/**
 * All files that decide, those below folders included. Throws Uncacheable where one changed since `startMs`, when the
 * loaders may have read what it was before.
 */
export function watchedBy({ files, folders, missing }: Dependencies, startMs: number): string[] {
  const watched = [...files, ...missing, ...folders.flatMap((folder) => [folder, ...pathsBelow(folder)])]
  if (watched.length > FILES_MAX) throw new Uncacheable('depends on folders with too many files')
  for (const path of watched) {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats !== undefined && Math.max(stats.mtimeMs, stats.ctimeMs) > startMs - TICK_MS) throw new Uncacheable('depends on a file that changes')
  }
  return watched
}

function pathsBelow(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return []
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return entries.map((entry) => join(folder, entry))
}

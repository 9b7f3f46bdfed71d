/** The files that a chain of loaders depends on, as a loader context tells them and as a task takes them. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Uncacheable } from '../build/uncacheable.ts'
import type { ChainContext } from './context.ts'

/** More files below a folder would cost more than the loaders. */
const FILES_MAX = 10_000

/** Time in which two writes may leave the same timestamp: a tick of the system's clock, or the whole seconds of FAT. */
const TICK_MS = 20
const COARSE_TICK_MS = 2000

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
    if (isYoung(path, startMs)) throw new Uncacheable('depends on a file that changes')
  }
  return watched
}

/** Whether a file may have changed after that moment. */
function isYoung(path: string, startMs: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return false
  const tickMs = stats.ctimeMs % 1000 === 0 ? COARSE_TICK_MS : TICK_MS
  return Math.max(stats.mtimeMs, stats.ctimeMs) > startMs - tickMs
}

function pathsBelow(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return []
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return entries.map((entry) => join(folder, entry))
}

/**
 * Stamps: what identifies a state of a file without its content.
 *
 * A file is unchanged if size, mtime, ctime and inode are the recorded ones. Every write changes ctime and no program can set
 * it, so a file with its old size and mtime is still detected. The inode differs if a link leads to another file, or another
 * folder has the name, whose files may have the same times. If one differs, the content decides, and the record gets the new
 * stamp. If the times are so recent that a later write might not change them ("racy clean", as in Git's index), there is no
 * stamp, and the content decides next time.
 *
 * A time of a file is that of the file system's clock, which may be another machine's: a network mount, or a folder that a
 * virtual machine shares. `measureClock` compares it with the clock of this machine, which may be set afterwards: a clock that only runs
 * tells how much time has passed at most.
 *
 * Everything is synchronous: a `statSync` costs 1 us, a stat by promise 16 us.
 */
import type * as fs from 'node:fs'
import { nowMs, runningMs } from '../host/own.ts'

/** Time in which two writes may leave the same timestamp: a tick of the system's clock, or the whole seconds of FAT. */
const TICK_MS = 20
const COARSE_TICK_MS = 2000

/** A measurement that takes longer met a pause of the process, which looks like a slow clock; it is repeated this often. */
const QUICK_MS = 2
const ATTEMPTS = 3

/** Assumed where the clock of a file system cannot be read: hosts and their virtual machines differ by less. */
const UNKNOWN_AHEAD_MS = 3_600_000

/** `O_TMPFILE` of Linux without `O_DIRECTORY`: a file without a name, which no other program sees. */
const NAMELESS = 0o20000000

/** The result of `stat`: the file's, that it does not exist, or that it cannot be determined. */
export type Look = fs.Stats | 'missing' | 'unreadable'

/** What identifies a state of a file without its content; zeros if only the content does. */
export type Stamp = readonly [size: number, mtimeMs: number, ctimeMs: number, ino: number]

export const NO_STAMP: Stamp = [0, 0, 0, 0]

/** The most milliseconds by which the clock of this machine was found ahead of that of a file system. */
let aheadMs = 0
/** The time of the slowest file system when this process began, as it was measured. */
let beganMs = Infinity

/** What `measureClock` uses of `node:fs`. */
export type ClockFiles = Pick<
  typeof fs,
  'closeSync' | 'constants' | 'fstatSync' | 'openSync' | 'statSync' | 'unlinkSync'
>

/**
 * Compares the clock of this machine with that of the file system of a folder, by a file made there. `own` is a folder of Varve's, in which a
 * file may have a name: the file system of the other one may support no files without.
 */
export function measureClock(files: ClockFiles, folder: string, own?: string): void {
  let best: { readonly tookMs: number; readonly aheadMs: number; readonly beganMs: number } | undefined
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const startMs = runningMs()
    const hereMs = nowMs()
    const fileMs = timeOfNameless(files, folder) ?? (own === undefined ? undefined : timeOfNamed(files, folder, own))
    if (fileMs === undefined) return
    const fileNow = fileMs === 'other' ? hereMs - UNKNOWN_AHEAD_MS : fileMs
    const endMs = runningMs()
    const tookMs = endMs - startMs
    if (best === undefined || tookMs < best.tookMs)
      best = { tookMs, aheadMs: hereMs - fileNow, beganMs: fileNow - endMs }
    if (tookMs < QUICK_MS) break
  }
  if (best === undefined) return
  aheadMs = Math.max(aheadMs, best.aheadMs)
  beganMs = Math.min(beganMs, best.beganMs)
}

/** The present time on the slowest clock that a file system has; at most that of this machine. */
export function fileNowMs(): number {
  return Math.min(nowMs() - aheadMs, beganMs + runningMs())
}

/** Whether something changed so short before that time that a change after it may look the same. */
export function isYoungAt(look: Look | undefined, atMs: number): boolean {
  return typeof look === 'object' && isYoungStamp(stampOf(look), atMs)
}

/** Whether a stamp is so young at that time that a later change may have the same one. */
export function isYoungStamp([, mtimeMs, ctimeMs]: Stamp, atMs: number): boolean {
  const tickMs = ctimeMs % 1000 === 0 ? COARSE_TICK_MS : TICK_MS
  return Math.max(mtimeMs, ctimeMs) > atMs - tickMs
}

export function lookAt(files: Pick<typeof fs, 'statSync'>, absolute: string): Look {
  try {
    const stats = files.statSync(absolute, { throwIfNoEntry: false })
    if (stats === undefined) return 'missing'
    // Anything else, such as a pipe, has no content to compare, and reading it might never end.
    return stats.isFile() || stats.isDirectory() ? stats : 'unreadable'
  } catch (error) {
    // A path through a file, where a folder was: as missing as anything.
    return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOTDIR'
      ? 'missing'
      : 'unreadable'
  }
}

/** What is at a path itself: a link, not what it leads to. Undefined if nothing is, or it cannot be determined. */
export function entryAt(files: Pick<typeof fs, 'lstatSync'>, absolute: string): fs.Stats | undefined {
  try {
    return files.lstatSync(absolute, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** The stamp of what was found; zeros for what has none. */
export function stampOf(look: Look | undefined): Stamp {
  return typeof look === 'object' ? [look.size, look.mtimeMs, look.ctimeMs, look.ino] : NO_STAMP
}

/** Whether two looks found the same file in the same state, or both the same lack of one. */
export function isSameLook(before: Look, after: Look): boolean {
  if (typeof before === 'string' || typeof after === 'string') return before === after
  return isSameStamp(stampOf(before), stampOf(after))
}

export function isSameStamp(one: Stamp, other: Stamp): boolean {
  return one.every((part, index) => part === other[index])
}

function timeOfNameless(files: ClockFiles, folder: string): number | undefined {
  const { O_DIRECTORY, O_RDWR } = files.constants
  if (globalThis.process.platform !== 'linux') return undefined
  return timeOfMade(files, folder, O_RDWR | O_DIRECTORY | NAMELESS)
}

/** `'other'` if `own` is on another file system; undefined if it cannot be measured, as before `own` is made. */
function timeOfNamed(files: ClockFiles, folder: string, own: string): number | 'other' | undefined {
  try {
    if (files.statSync(folder).dev !== files.statSync(own).dev) return 'other'
  } catch {
    return undefined
  }
  const { O_CREAT, O_EXCL, O_RDWR } = files.constants
  const path = `${own}/clock-${globalThis.process.pid}-${Math.random().toString(36).slice(2)}.tmp`
  const timeMs = timeOfMade(files, path, O_RDWR | O_CREAT | O_EXCL)
  try {
    if (timeMs !== undefined) files.unlinkSync(path)
  } catch {
    // Another program has removed it.
  }
  return timeMs
}

function timeOfMade(files: ClockFiles, path: string, flags: number): number | undefined {
  try {
    const file = files.openSync(path, flags, 0o600)
    try {
      return files.fstatSync(file).ctimeMs
    } finally {
      files.closeSync(file)
    }
  } catch {
    return undefined
  }
}

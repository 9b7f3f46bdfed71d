/** Snapshots of webpack's FileSystemInfo, as promises. */
import type { Compiler } from 'webpack'
import type { FileSystemInfo } from './dependency-files.ts'

export type Snapshot = Parameters<FileSystemInfo['checkSnapshotValid']>[0]
type SnapshotOptions = Compiler['options']['snapshot']['module']

/** Default options of a snapshot: compare timestamps first, and hashes if those differ. */
const SNAPSHOT_OPTIONS = { timestamp: true, hash: true }

/** What a snapshot is made of. */
export interface Paths {
  readonly files: Iterable<string>
  readonly directories: Iterable<string>
  readonly missing: Iterable<string>
}

/** Makes a snapshot. */
export function takeSnapshot(
  info: FileSystemInfo,
  paths: Paths,
  how: SnapshotOptions = SNAPSHOT_OPTIONS,
): Promise<Snapshot> {
  return new Promise((resolve, reject) => {
    info.createSnapshot(undefined, paths.files, paths.directories, paths.missing, how, (error, snapshot) => {
      if (snapshot === null || snapshot === undefined) reject(error ?? new Error('webpack made no snapshot'))
      else resolve(snapshot)
    })
  })
}

/** Compares a snapshot, and adds what webpack found changed to `changed`: it stops at the first difference of each kind. */
export function isUnchangedSince(info: FileSystemInfo, snapshot: Snapshot, changed: string[]): Promise<boolean> {
  const note = (path: string): void => void changed.push(path)
  const noting: FileSystemInfo = Object.create(info, { _remainingLogs: { value: 1 }, _log: { value: note } })
  return new Promise((resolve) => {
    noting.checkSnapshotValid(snapshot, (error, isValid) => resolve(!error && isValid === true))
  })
}

/** What is stored of an environment: `environment.ts`. */
import type { FileSystemInfo } from './dependency-files.ts'
import type { Digests } from './recorded.ts'
import type { Snapshot } from './snapshots.ts'

export type Resolution = NonNullable<Parameters<Parameters<FileSystemInfo['resolveBuildDependencies']>[3]>[1]>

/** Dependencies of a build besides its modules. */
export interface Dependencies {
  /** Build dependencies, which are followed through their imports. */
  readonly all: ReadonlySet<string>
  readonly optional: ReadonlySet<string>
  /** Recorded inputs; see `recorded.ts`. */
  readonly inputs: ReadonlySet<string>
}

/** The environment of new entries. */
export interface CurrentEnvironment {
  readonly id: string
  /** The record, and whether it is bound to this checkout: it is put again if the cache has been removed. */
  readonly bytes: Buffer
  readonly isBound: boolean
  readonly dependencies: ReadonlySet<string>
  readonly inputs: Digests
  readonly above: ReadonlySet<string>
  /** All inputs, with those that are missing above this root. */
  readonly known: ReadonlySet<string>
  /** False if files that decide how dependencies resolve have changed, although the dependencies resolve as before. */
  readonly isFresh: boolean
}

/** The record of an environment. */
export interface EnvironmentRecord {
  readonly dependencies: ReadonlySet<string>
  readonly resolveResults: Resolution['resolveResults']
  /** Snapshot of what was read to resolve the dependencies. */
  readonly resolving: Snapshot
  /** Snapshot of the dependencies themselves, and of the inputs that are paths. */
  readonly contents: Snapshot
  /** Inputs that loaders and plugins read without reporting them. */
  readonly inputs: Digests
  /** Names that are missing in every directory above the root. */
  readonly above: ReadonlySet<string>
}

/** Whether a decoded value is a record. */
export function isRecord(value: unknown): value is EnvironmentRecord {
  if (typeof value !== 'object' || value === null) return false
  const { inputs, above } = value as { readonly inputs?: unknown; readonly above?: unknown }
  const hasSets = inputs instanceof Map && above instanceof Set
  return hasSets && 'dependencies' in value && 'resolveResults' in value && 'resolving' in value && 'contents' in value
}

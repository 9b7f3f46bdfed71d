/** The public API of Varve. */
export type { Cache, CacheStatus, Pending } from './api/cache.ts'
export type { CodecName } from './values/codec.ts'
export type { Degraded } from './health/degraded.ts'
export { type ErrorCode, TaskCycleError, type TaskStep, VarveError } from './errors.ts'
export type { RestoreMode, StoredContent } from './engine/files.ts'
export type { Files } from './files/files.ts'
export type { FileEntry, FileItem, FileManifest, FolderItem, LinkItem } from './values/manifest.ts'
export type {
  ExportTarOptions,
  FilesReport,
  ImportedTar,
  ImportTarOptions,
  RestoreOptions,
  RestoreReport,
  StoreOptions,
} from './files/options.ts'
export type { ByteSource, ByteTarget } from './files/spool.ts'
export type { Key } from './values/key.ts'
export type { Namespace } from './session/namespace.ts'
export { openCache } from './api/open.ts'
export type {
  CacheOptions,
  CloseOptions,
  CommitOptions,
  CompactOptions,
  Durability,
  EngineChoice,
  ExportOptions,
  ImportOptions,
  NamespaceOptions,
  PutOptions,
  RepairOptions,
  WatchOptions,
} from './options.ts'
export type {
  CommitReport,
  CompactReport,
  Damage,
  DamagedKeys,
  ExportReport,
  ImportReport,
  NamespaceStats,
  RepairReport,
  Stats,
  VerifyReport,
} from './reports.ts'
export type { TaskStats } from './task/counters.ts'
export type { Difference } from './task/differences.ts'
export type { TaskContext, TaskDependencies, TaskInputs, TaskOptions, TaskRequest, TaskWork } from './task/options.ts'
export type { Task } from './task/task.ts'
export type { WhyReport } from './task/why.ts'
export type { ImportSource, NodeTarget, WebSource, WebTarget } from './json/transfer.ts'

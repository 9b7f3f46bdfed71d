/** The public API of Varve. */
export type { Cache, CacheStatus } from './cache.ts'
export type { CodecName } from './codec.ts'
export { type ErrorCode, VarveError } from './errors.ts'
export type { Key } from './key.ts'
export type { Namespace } from './namespace.ts'
export { openCache } from './open.ts'
export type {
  CacheOptions,
  CommitOptions,
  CompactOptions,
  Durability,
  EngineChoice,
  ExportOptions,
  ImportOptions,
  NamespaceOptions,
  WatchOptions,
} from './options.ts'
export type {
  CommitReport,
  CompactReport,
  Damage,
  ExportReport,
  ImportReport,
  NamespaceStats,
  Stats,
  VerifyReport,
} from './reports.ts'
export type { ImportSource, NodeTarget, WebSource, WebTarget } from './transfer.ts'

/** The main entry of Varve: open a cache, its namespaces and tasks. Types of files and JSON: `varve/files`, `varve/json`. */
export type { Cache } from './api/cache.ts'
export { openCache } from './api/open.ts'
export type { CacheStatus } from './api/store.ts'
export { type ErrorCode, TaskCycleError, VarveError } from './errors.ts'
export type { Degraded } from './health/place.ts'
export { gitDirectory } from './health/directory.ts'
export type { BuildCounts } from './history/tally.ts'
export type { BuildRecord } from './history/history.ts'
export { startWork } from './history/tally.ts'
export type {
  CacheOptions,
  CloseOptions,
  CommitOptions,
  CompactOptions,
  Durability,
  EngineChoice,
  HistoryMode,
  NamespaceOptions,
  PutOptions,
  RepairOptions,
  SealOptions,
  WatchOptions,
} from './options.ts'
export type {
  CommitReport,
  CompactReport,
  Damage,
  LayerReport,
  NamespaceStats,
  RepairReport,
  SealReport,
  Stats,
  VerifyReport,
} from './reports.ts'
export type { TrustDomain } from './health/domain.ts'
export type { AttachedLayers, CacheRemote, PublishedCache, RemoteReport } from './remote/remote.ts'
export type { Namespace } from './session/namespace.ts'
export type { TaskStats } from './task/task.ts'
export type { Difference } from './task/why.ts'
export type { TaskContext, TaskInputs, TaskOptions, TaskRequest } from './task/options.ts'
export type { Task } from './task/task.ts'
export type { WhyReport } from './task/why.ts'
export type { CodecName } from './values/codec.ts'
export type { Key } from './values/bytes.ts'

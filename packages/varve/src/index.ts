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
  NamespaceOptions,
  WatchOptions,
} from './options.ts'
export type {
  CommitReport,
  CompactReport,
  Damage,
  NamespaceStats,
  Stats,
  VerifyReport,
} from './reports.ts'
export type { TaskStats } from './task/counters.ts'
export type { Difference } from './task/differences.ts'
export type { TaskContext, TaskDependencies, TaskInputs, TaskOptions, TaskRequest, TaskWork } from './task/options.ts'
export type { Task } from './task/task.ts'
export type { WhyReport } from './task/why.ts'

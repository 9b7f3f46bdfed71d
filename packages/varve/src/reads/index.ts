/**
 * The recorder, for authors of plugins: what code reads while it runs becomes inputs of its results. Load it before the
 * libraries that are to be recorded.
 */
export type { ReadKind } from '../inputs/input.ts'
export { ReadCall } from './call.ts'
export { recordedFiles } from './fs.ts'
export { installReads, uninstallReads } from './recorder.ts'
export { ReadScope } from './scope.ts'
export type { ReadScopeOptions } from './scope.ts'
export { unrecorded } from './sink.ts'

/**
 * The recorder, for authors of plugins: what code reads while it runs becomes inputs of its results. Load it before the
 * libraries that are to be recorded.
 */
export { installReads, uninstallReads } from './install.ts'
export { forEachLoaded } from './loaded.ts'
export { isCountedVariable } from './counted.ts'
export { ReadCall } from './call.ts'
export { digestOfRead, READ_KINDS } from './kinds.ts'
export type { ReadKind } from './kinds.ts'
export { digestOf as digestOfInput } from '../inputs/digest.ts'
export { shownOf } from '../inputs/literal.ts'
export { sentenceOf } from '../task/differences.ts'
export { observe } from './observed.ts'
export { isArchive, isPlugged } from './plugged.ts'
export { ReadScope } from './scope.ts'
export type { ReadScopeOptions } from './scope-options.ts'
export type { Verdict } from './generations.ts'
export type { ChangedRead } from './set.ts'
export { recordedFiles } from './view.ts'
export { inUse, isOutput, noteOutput, unrecorded, unrecordedNow } from './sink.ts'

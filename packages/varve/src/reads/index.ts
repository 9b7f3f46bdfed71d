/**
 * The recorder, for authors of plugins: what code reads while it runs becomes inputs of its results. Load it before the
 * libraries that are to be recorded.
 */
export { ownFiles } from '../host/own.ts'
export { installReads, uninstallReads } from './install.ts'
export { forEachLoaded } from './loaded.ts'
export { isCountedVariable } from '../inputs/variables.ts'
export { ReadCall } from './call.ts'
export { digestOfRead, READ_KINDS } from '../inputs/input.ts'
export type { ReadKind } from '../inputs/input.ts'
export { digestOf as digestOfInput } from '../inputs/digest.ts'
export { shownOf } from '../inputs/literal.ts'
export { sentenceOf } from '../task/differences.ts'
export { observe } from './observed.ts'
export { isArchive, isPlugged } from '../inputs/plugged.ts'
export { ReadScope } from './scope.ts'
export type { ReadScopeOptions } from './scope.ts'
export type { Verdict } from './generations.ts'
export type { ChangedInput } from '../inputs/check.ts'
export { recordedFiles } from './view.ts'
export { inUse, isOutput, noteOutput, unrecorded, unrecordedNow } from './sink.ts'

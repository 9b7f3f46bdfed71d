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

// For the recorder of the plugin for webpack, which is to use `varve/internal`.
export { digestOf as digestOfInput } from '../inputs/digest.ts'
export { shownOf } from '../inputs/digest.ts'
export { digestOfRead, isArchive, isPlugged, READ_KINDS } from '../inputs/input.ts'
export { isCountedVariable } from '../inputs/variables.ts'
export { sentenceOf } from '../task/why.ts'
export { forEachLoaded } from './resolution.ts'
export { inUse, isOutput, noteOutput, unrecordedNow } from './sink.ts'

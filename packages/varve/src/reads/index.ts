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
export { isPlugged } from '../inputs/input.ts'
export type { ChangedInput, StoredInput } from '../inputs/set.ts'
export { readSet } from '../inputs/set.ts'
export { sentenceOf } from '../task/why.ts'
export { forwardKeys, InputNotes } from './notes.ts'
export type { InputNotesOptions } from './notes.ts'
export { forEachLoaded } from './resolution.ts'
export { inUse, isOutput, noteOutput, unrecordedNow } from './sink.ts'

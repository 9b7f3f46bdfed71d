/** What only packages of Varve use of each other. It may change in any version. */
export {
  ANYTHING,
  BOOLEAN,
  checkOptions,
  describe,
  type Field,
  type Fields,
  FUNCTION,
  oneOf,
  SIGNAL,
  STRING,
  TEXT,
  TEXTS,
  unknownName,
} from './checks/options.ts'
export { isCpuTime, REFUSED, reasonWords } from './history/tally.ts'
export { installedPackage } from './host/installed.ts'
export { makeDirectory } from './host/permission.ts'
export { ownEnv, ownFiles } from './host/own.ts'
export { digestOf as digestOfInput } from './inputs/digest.ts'
export { shownOf } from './inputs/digest.ts'
export { CONTENT_KINDS, isPlugged, READ_KINDS } from './inputs/input.ts'
export { isCountedVariable } from './inputs/variables.ts'
export { readSet } from './inputs/set.ts'
export type { ChangedInput, StoredInput } from './inputs/set.ts'
export { forwardKeys, InputNotes } from './reads/notes.ts'
export { forEachLoaded } from './reads/resolution.ts'
export { CallWrites, observe, type TakenPaths } from './reads/counted.ts'
export { inUse, isOutput, noteOutput } from './reads/sink.ts'
export { sentenceOf } from './task/why.ts'
export { parseJson } from './values/json.ts'

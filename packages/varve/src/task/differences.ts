/** Finds the differences between a variant and the present, or between two variants. */
import type { RecordedFile } from '../inputs/files.ts'
import type { Asked } from './lookup.ts'
import { type Digests, digestIn, namesIn } from './named.ts'
import type { Present } from './present.ts'
import type { Variant } from './record.ts'

/** One difference. */
export interface Difference {
  readonly kind: 'input' | 'env' | 'file' | 'list' | 'reads'
  /**
   * Name of the input or variable ('*': the names of all variables), or path of the file, or of the directory whose list
   * differs, relative to the root; for 'reads', why the record of them cannot be used.
   */
  readonly name: string
  /**
   * Digest in the entry; 'missing' for a file that did not exist, 'undefined' for a variable that was not set; undefined
   * if the entry has no record of it.
   */
  readonly before: string | undefined
  /** Digest now, likewise; undefined if it was not requested or cannot be determined. */
  readonly after: string | undefined
}

/** The reads of the process that made a result are not stored: they changed while it ran, or could not be seen. */
export const READS_NOT_STORED: Difference = { kind: 'reads', name: 'not stored', before: undefined, after: undefined }

/** A difference as a phrase. */
export function sentenceOf({ kind, name, before, after }: Difference): string {
  if (kind === 'reads') return 'what its work read is not stored'
  if (kind === 'input') return `input ${name} changed`
  if (kind === 'list') return `${name}/ has another list of files`
  if (kind === 'env' && name === '*') return 'other variables are set'
  if (before === 'missing' || before === 'undefined') return kind === 'env' ? `${name} was set` : `${name} appeared`
  if (after === 'missing' || after === 'undefined') return kind === 'env' ? `${name} is no longer set` : `${name} is gone`
  return `${name} changed`
}

/** All differences of `variant` from the request and from the present. */
export function differencesNow(variant: Variant, asked: Asked, present: Present): Difference[] {
  return [
    ...differing('input', variant.inputs, (name) => digestIn(asked.inputs, name), namesIn(asked.inputs)),
    ...differing('input', variant.added, (name) => present.added(name), []),
    ...differencesAround(variant, present, asked),
  ]
}

/** The differences in environment and files, including requested ones that the variant does not have. */
export function differencesAround(variant: Variant, present: Present, asked: Pick<Asked, 'env' | 'files'>): Difference[] {
  // A file whose stamp is the recorded one is not read.
  const changed = variant.files.filter((file) => present.files.compare(file) === 'changed')
  const unknown = asked.files.filter((path) => !variant.files.some(([recorded]) => recorded === path))
  return [
    ...differing('env', variant.env, (name) => present.env(name), asked.env),
    ...differing('file', filesOf(changed), (path) => present.files.digestOf(path), unknown),
  ]
}

/** All differences of two variants. */
export function differencesBetween(before: Variant, after: Variant): Difference[] {
  const lists = [
    ['input', before.inputs, after.inputs],
    ['input', before.added, after.added],
    ['env', before.env, after.env],
    ['file', filesOf(before.files), filesOf(after.files)],
  ] as const
  return lists.flatMap(([kind, one, other]) => differing(kind, one, (name) => digestIn(other, name), namesIn(other)))
}

/** What of `before` has another digest now, and all of `others` that it does not know. */
function differing(
  kind: Difference['kind'],
  before: Digests,
  now: (name: string) => string | undefined,
  others: readonly string[],
): Difference[] {
  const names = [...new Set([...namesIn(before), ...others])]
  return names
    .map((name) => ({ kind, name, before: digestIn(before, name), after: now(name) }))
    .filter((one) => one.before === undefined || one.before !== one.after)
}

function filesOf(files: readonly RecordedFile[]): Digests {
  return files.flatMap(([path, digest]) => [path, digest])
}

/** Why a run would hit or miss: the nearest variant, and what differs from it. */
import type { Asked } from './request.ts'
import type { Explain } from './options.ts'
import type { ReadScope } from '../reads/scope.ts'
import { type Digests, type Variant, digestIn, namesIn, shortWords, inputOf, type RecordedFile } from './record.ts'
import { PACKAGE_INPUT } from '../host/format.ts'
import { UNREADABLE } from '../inputs/input.ts'
import { isFolder } from '../inputs/observed.ts'
import type { Comparison } from '../inputs/set.ts'
import { packageOf, shownOf } from '../inputs/digest.ts'

/** What `task.why` found. */
export interface WhyReport {
  readonly task: string
  /** The id, relative to the root. */
  readonly id: string
  /**
   * 'hit'; 'new': nothing is stored of this id by this version of the task; 'changed': see `differences`; 'lost': an
   * entry holds, its result is no longer there.
   */
  readonly outcome: 'hit' | 'new' | 'changed' | 'lost'
  /** Variants stored. */
  readonly variants: number
  /** What differs from the nearest variant, which is the one with the fewest differences. Empty unless 'changed'. */
  readonly differences: readonly Difference[]
  /** When the work of the nearest variant was done, milliseconds since 1970; undefined for 'new'. */
  readonly timeMs: number | undefined
}

/** A variant, and what differs from it. */
export interface Nearest {
  readonly variant: Variant
  readonly differences: readonly Difference[]
}

/** The variant with the fewest differences, among these the one used last; undefined if there are no variants. */
export function nearestOf(
  variants: readonly Variant[],
  asked: Asked,
  present: Comparison,
  scope?: ReadScope,
): Nearest | undefined {
  const all = variants.map((variant) => ({
    variant,
    differences: [...differencesNow(variant, asked, present), ...readDifferences(variant, scope)],
  }))
  return all.sort((a, b) => a.differences.length - b.differences.length)[0]
}

/** Why what the work read keeps a variant from being used. */
export function readDifferences({ reads }: Variant, scope: ReadScope | undefined): readonly Difference[] {
  if (scope === undefined) return []
  const verdict = reads === undefined ? 'unknown' : scope.verdict(reads)
  if (verdict === 'same') return []
  const changes = reads === undefined ? [] : scope.changes(reads)
  return changes.length > 0 ? changes : [READS_NOT_STORED]
}

/** Why a run missed, as a phrase with values where they are known. */
export function whyOf(nearest: Nearest | undefined, explain: Explain | undefined): string {
  if (nearest === undefined) return 'nothing was stored'
  return nearest.differences.length === 0 ? 'its result was gone' : wordsOf(nearest.differences, explain)
}

/** Why a run missed, in a word or two. `shared`: the files of all runs. */
export function reasonOf(nearest: Nearest | undefined, shared: readonly string[]): string {
  if (nearest === undefined) return 'new'
  const [first] = nearest.differences
  if (first === undefined) return 'result'
  // Files that a run declares differ from run to run; those of a task and what it reads are the same for all of them.
  const isDeclared = first.before === undefined || nearest.variant.files.some(([path]) => path === first.name)
  return first.kind === 'file' && isDeclared && !shared.includes(first.name) ? 'file' : `${first.kind} ${first.name}`
}

/** Differences that the words of a record name. */
const NAMED_MAX = 3

/** One difference. */
export interface Difference {
  readonly kind: 'input' | 'env' | 'file' | 'list' | 'reads'
  /**
   * Name of the input or variable ('*': the names of all variables), or path of the file, or of the directory whose list
   * differs, relative to the root; for 'reads', why the record of them cannot be used.
   */
  readonly name: string
  /**
   * Digest in the entry, or '=' and the JSON of a short value; 'missing' for a file that did not exist, 'undefined' for a
   * variable that was not set; undefined if the entry has no record of it. The digest of a package.json in node_modules ends
   * with the version of the package.
   */
  readonly before: string | undefined
  /** Digest now, likewise; undefined if it was not requested or cannot be determined. */
  readonly after: string | undefined
}

/** The reads of the process that made a result are not stored: they changed while it ran, or could not be seen. */
export const READS_NOT_STORED: Difference = { kind: 'reads', name: 'not stored', before: undefined, after: undefined }

/** The manifest of a package of Yarn Plug'n'Play, whose content never changes. */
const IN_ARCHIVE = /\.zip[\\/]node_modules[\\/].*[\\/]package\.json$/

/** A difference as a phrase. */
export function sentenceOf({ kind, name, before, after }: Difference): string {
  if (kind === 'reads') return 'what its work read is not stored'
  if (kind === 'list') return `the list of files in ${name === '' ? 'the project directory' : `${name}/`} changed`
  if (kind === 'env' && name.endsWith('*')) return `other variables are set${name === '*' ? '' : ` (${name})`}`
  const subject = subjectOf(kind, name)
  if (before === undefined && kind !== 'input') return `${subject} is a new dependency`
  const old = shownOf(before)
  const now = shownOf(after)
  if (before === 'missing') return `${subject} appeared${now === undefined ? '' : `: ${now}`}`
  if (before === 'undefined') return `${subject} was set${now === undefined ? '' : ` to ${now}`}`
  if (after === 'missing') return `${subject} is gone`
  if (after === 'undefined') return `${subject} is no longer set${old === undefined ? '' : `: it was ${old}`}`
  if (old !== undefined && now !== undefined && old !== now) return `${subject} ${old} -> ${now}`
  return IN_ARCHIVE.test(name) ? `${subject} gets other dependencies` : `${kind === 'input' ? subject : name} changed`
}

function subjectOf(kind: Difference['kind'], name: string): string {
  if (kind === 'input') return name.startsWith(PACKAGE_INPUT) ? name : `input ${name}`
  return kind === 'file' ? (packageOf(name) ?? name) : name
}

/** Several differences as a short text: first those with values, then others. */
export function wordsOf(differences: readonly Difference[], explain: Explain | undefined): string {
  // Variables first: what they decide, such as a config, differs with them.
  const variables = differences.filter(isVariable)
  const others = differences.filter((one) => !isVariable(one))
  const sentences = [...variables, ...others].map(
    (difference) => explained(difference, explain) ?? sentenceOf(difference),
  )
  const hasValues = (sentence: string): boolean => !/ (?:changed|dependency)$/.test(sentence)
  // New dependencies follow from other changes, if there are any.
  const causes = sentences.filter((one) => !one.endsWith(' dependency'))
  const named = causes.length > 0 ? causes : sentences
  const sorted = [...new Set([...named.filter(hasValues), ...named.filter((one) => !hasValues(one))])]
  const rest = sorted.length - NAMED_MAX
  return shortWords([...sorted.slice(0, NAMED_MAX), ...(rest > 0 ? [`and ${rest} more`] : [])].join(', '))
}

/** Plugins have variables as inputs, too. */
function isVariable({ kind, name }: Difference): boolean {
  return kind === 'env' || (kind === 'input' && name.startsWith('env '))
}

/** The words of the caller for an input. */
function explained({ kind, name, before, after }: Difference, explain: Explain | undefined): string | undefined {
  if (kind !== 'input' || explain === undefined) return undefined
  try {
    const words: unknown = explain(name, shownOf(before), shownOf(after))
    return typeof words === 'string' && words !== '' ? words : undefined
  } catch {
    return undefined
  }
}

/** All differences of `variant` from the request and from the present. */
export function differencesNow(variant: Variant, asked: Asked, present: Comparison): Difference[] {
  return [
    ...differing('input', variant.inputs, (name) => digestIn(asked.inputs, name), namesIn(asked.inputs)),
    ...differing('input', variant.added, (name) => asked.added.get(name), []),
    ...differencesAround(variant, present, asked),
  ]
}

/** The differences in environment and files, including requested ones that the variant does not have. */
export function differencesAround(
  variant: Variant,
  present: Comparison,
  asked: Pick<Asked, 'env' | 'files'>,
): Difference[] {
  // A file whose stamp is the recorded one is not read.
  const changed = variant.files.filter((file) => present.compareOne(inputOf(file)) === 'changed')
  const unknown = asked.files.filter((path) => !variant.files.some(([recorded]) => recorded === path))
  return [
    ...differing('env', variant.env, (name) => present.now('env', name), asked.env),
    ...differing('file', filesOf(changed), (path) => fileNow(present, path), unknown),
  ]
}

/** The digest of a declared file or directory; undefined if it cannot be determined. */
function fileNow(present: Comparison, path: string): string | undefined {
  const { look } = present.observe('content', path)
  const digest = present.now(look !== undefined && isFolder(look) ? 'list' : 'content', path)
  return digest === UNREADABLE ? undefined : digest
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

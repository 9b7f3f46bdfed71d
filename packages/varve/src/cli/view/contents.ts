/** The folders of a namespace, of which the second pass reads those that are listed. */
import { setImmediate } from 'node:timers/promises'
import type { ContentsJson, MadeJson, MadeReasonJson, MadeResultJson, TreeJson } from '../../cli-json.ts'
import type { EngineControl, EngineFolders } from '../../engine/engine.ts'
import { VarveError } from '../../errors.ts'
import type { BuildRecord } from '../../history/history.ts'
import type { NamespaceStats } from '../../reports.ts'
import type { Session } from '../../session/session.ts'
import { type Difference, differencesBetween, sentenceOf } from '../../task/why.ts'
import { groupOf, RECORDS_PREFIX } from '../../host/format.ts'
import { costOf, type Newest, newestIn, type Variant } from '../../task/record.ts'
import { readText, type Key } from '../../values/bytes.ts'
import {
  entriesOf,
  foldersOf,
  keysOf,
  namespacesOf,
  type RawEntry,
  type Described,
  describedIn,
  partsOf,
} from '../open/entries.ts'
import { type IdRecord, recordIn } from '../open/tasks.ts'
import { folderOf, parentOf, placesOf, Tree, type Weight } from './tree.ts'

/** Folders in memory. Of a namespace that has more, the second pass reads all entries. */
const FOLDERS_MAX = 100_000

/** A set of bounded size. */
export class Folders {
  readonly #names: Set<string> = new Set()

  /** Adds a folder if there is room. */
  add(folder: string): void {
    if (this.#names.size <= FOLDERS_MAX) this.#names.add(folder)
  }

  /** Those that are listed, packed for the engine; undefined for all. */
  chosen(isListed: (folder: string) => boolean): EngineFolders | undefined {
    if (this.#names.size > FOLDERS_MAX) return undefined
    const chosen = [...this.#names].filter(isListed).map((folder) => Buffer.from(folder))
    let end = 0
    return { keys: Buffer.concat(chosen), keyEnds: Uint32Array.from(chosen, ({ length }) => (end += length)) }
  }
}

const REASONS_MAX = 50
const RESULTS_MAX = 50
const DIFFERENCES_MAX = 10

/** Counts results by reason. All reasons beyond the limit count as one. */
export class MadeResults {
  readonly #build: BuildRecord | undefined
  readonly #reasons: Map<string, { count: number; workMs: number; results: MadeResultJson[] }> = new Map()
  readonly #described: Described
  #count = 0

  constructor(build: BuildRecord | undefined, described: Described) {
    this.#build = build
    this.#described = described
  }

  /** Whether the build made a result. */
  has({ timeMs }: Newest): boolean {
    return (
      this.#build !== undefined &&
      timeMs >= this.#build.startMs &&
      timeMs <= this.#build.startMs + this.#build.durationMs
    )
  }

  /** Counts the newest result of an id, which the build made. */
  add({ task, id, variants }: IdRecord): void {
    const newest = variants.reduce((one, other) => (other.timeMs > one.timeMs ? other : one))
    const { timeMs } = newest
    const differences = differencesOf(newest, variants)
    const reason = reasonOf(id, differences)
    const workMs = costOf(newest)
    const isListed = this.#reasons.has(reason) || this.#reasons.size < REASONS_MAX
    this.#count += 1
    const namespace = `${RECORDS_PREFIX}${task}`
    const tool = this.#described.of(namespace)?.title
    const path = this.#described.subjectOf(namespace, id)?.path
    this.#put(isListed ? reason : 'other reasons', {
      task,
      id,
      ...(tool === undefined ? {} : { tool }),
      ...(path === undefined ? {} : { path }),
      timeMs,
      workMs,
      differences: differences?.slice(0, DIFFERENCES_MAX) ?? [],
    })
  }

  toJson(): MadeJson {
    const reasons: MadeReasonJson[] = [...this.#reasons].map(([reason, { results, ...sums }]) => ({
      reason,
      ...sums,
      results: costliest(results),
    }))
    return { count: this.#count, reasons: reasons.sort((one, other) => other.count - one.count) }
  }

  #put(reason: string, result: MadeResultJson): void {
    const known = this.#reasons.get(reason) ?? { count: 0, workMs: 0, results: [] }
    known.count += 1
    known.workMs += result.workMs
    known.results.push(result)
    if (known.results.length > 2 * RESULTS_MAX) known.results = costliest(known.results)
    this.#reasons.set(reason, known)
  }
}

/** Why a result was made, so that results with one cause have the same words. */
function reasonOf(id: string, differences: readonly Difference[] | undefined): string {
  if (differences === undefined) return 'new'
  const [first] = differences
  if (first === undefined) return 'what its work read changed'
  return first.kind === 'file' && id.includes(first.name) ? 'its own file changed' : sentenceOf(first)
}

function costliest(results: readonly MadeResultJson[]): MadeResultJson[] {
  return results.toSorted((one, other) => other.workMs - one.workMs).slice(0, RESULTS_MAX)
}

/** What differs from the older result that is most like it; undefined if there is none. */
function differencesOf(newest: Variant, variants: readonly Variant[]): readonly Difference[] | undefined {
  const older = variants.filter((variant) => variant !== newest).map((variant) => differencesBetween(variant, newest))
  return older.sort((one, other) => one.length - other.length)[0]
}

/** Time between two looks at other work of the process, in milliseconds, and entries between two looks at the time. */
const SLICE_MS = 20
const LOOK_ENTRIES = 256

/** Progress counts entries, those that are only in sums too. */
export async function contentsOf(
  session: Session,
  build: BuildRecord | undefined,
  control: EngineControl,
): Promise<ContentsJson> {
  const described = await describedIn(session)
  const tree = new Tree()
  const made = new MadeResults(build, described)
  const namespaces = await namespacesOf(session, undefined)
  const divided = described.descriptions.filter(({ parts }) => parts !== undefined)
  const own = new Set(divided.flatMap((each) => each.namespaces))
  const total = namespaces.reduce((sum, { entries }) => sum + 2 * entries, 0)
  await inSlices(addAll(), total, control)
  return { tree: withTitles(tree.toJson(), described), made: made.toJson() }

  function* addAll(): Generator<number> {
    const folders = new Map<string, Folders>()
    for (const namespace of namespaces) {
      if (own.has(namespace.name)) noteMade(session, namespace, made)
      else if (isRecords(namespace.name)) folders.set(namespace.name, yield* addRecords(session, namespace, tree, made))
      else folders.set(namespace.name, yield* addFolders(session, namespace, tree))
    }
    for (const { group, parent, weight } of dividedParts()) {
      tree.add(group, parent, weight)
      yield weight.entries
    }
    tree.choose()
    for (const namespace of namespaces.filter(({ name }) => !own.has(name))) {
      const group = groupOf(namespace.name)
      const listed = folders.get(namespace.name)?.chosen((folder) => tree.lists(group, parentOf(folder)))
      if (listed?.keyEnds.length === 0) continue // the engine would take this for all folders
      const weights = isRecords(namespace.name)
        ? recordWeights(session, namespace, listed)
        : keyWeights(session, namespace, listed)
      const place = placesOf(namespace.name)
      for (const [key, weight] of weights) {
        tree.addModule(group, ...place(key), weight)
        yield 1
      }
    }
    for (const { group, parent, module, weight } of dividedParts()) {
      tree.addModule(group, parent, module, weight)
      yield weight.entries
    }
  }

  /** The parts of values that have the data of several subjects. */
  function* dividedParts(): Generator<{ group: string; parent: string; module: string; weight: Weight }> {
    for (const description of divided) {
      for (const { subject, ...weight } of partsOf(session, described, description)) {
        const parent = subject === undefined ? UNLISTED : parentOf(folderOf(subject.path))
        yield { group: description.title, parent, module: subject?.path ?? UNLISTED, weight }
      }
    }
  }
}

/** The name of parts that users need not know of. */
const UNLISTED = 'notes and the resolver'

/** The tree with titles where names are not those that users know. What they need not know of is one part. */
function withTitles(tree: TreeJson, described: Described): TreeJson {
  const groups = tree.parts?.map((group) => {
    const description = described.of(group.name ?? '')
    if (description === undefined) return group
    if (description.isInternal === true) {
      const { name, entries, bytes, workMs } = group
      return { name, title: description.title, entries, bytes, workMs }
    }
    const title = (group.name ?? '').slice(RECORDS_PREFIX.length)
    return { ...group, title, ...partsWithTitles(group, (name) => description.subjectOf(group.name ?? '', name)?.path) }
  })
  return { ...tree, ...(groups === undefined ? {} : { parts: groups }) }
}

function partsWithTitles(
  { parts }: TreeJson,
  titleOf: (name: string) => string | undefined,
): { readonly parts?: readonly TreeJson[] } {
  if (parts === undefined) return {}
  const titled = parts.map((part) => {
    const title = part.name === null ? undefined : titleOf(part.name)
    return {
      ...part,
      ...(title === undefined || title === part.name ? {} : { title }),
      ...partsWithTitles(part, titleOf),
    }
  })
  return { parts: titled }
}

function isRecords(namespace: string): boolean {
  return namespace.startsWith(RECORDS_PREFIX)
}

/** Adds the sums of each folder, and returns the folders. */
function* addFolders(session: Session, namespace: NamespaceStats, tree: Tree): Generator<number, Folders> {
  const group = groupOf(namespace.name)
  const folders = new Folders()
  for (const { folder, entries, bytes } of foldersOf(session, namespace)) {
    folders.add(folder)
    tree.add(group, parentOf(folder), { entries, bytes, workMs: 0 })
    yield entries
  }
  return folders
}

/** Notes the results that the build made. Their bytes count as parts of the tool. */
function noteMade(session: Session, namespace: NamespaceStats, made: MadeResults): void {
  if (!isRecords(namespace.name)) return
  for (const entry of entriesOf(session, [namespace])) {
    const newest = newestOf(entry)
    const record = newest !== undefined && made.has(newest) ? recordIn(entry) : undefined
    if (record !== undefined) made.add(record)
  }
}

/** Adds the records of a task with what their results cost, and returns their folders. */
function* addRecords(
  session: Session,
  namespace: NamespaceStats,
  tree: Tree,
  made: MadeResults,
): Generator<number, Folders> {
  const group = groupOf(namespace.name)
  const folders = new Folders()
  for (const entry of entriesOf(session, [namespace])) {
    const folder = folderOf(entry.key)
    const newest = newestOf(entry)
    const record = newest !== undefined && made.has(newest) ? recordIn(entry) : undefined
    if (record !== undefined) made.add(record)
    folders.add(folder)
    tree.add(group, parentOf(folder), weightOf(entry, newest))
    yield 1
  }
  return folders
}

type Weights = Generator<readonly [Key, Weight]>

function* keyWeights(session: Session, namespace: NamespaceStats, folders: EngineFolders | undefined): Weights {
  for (const { key, keyBytes, valueBytes } of keysOf(session, [namespace], folders))
    yield [key, { entries: 1, bytes: keyBytes + valueBytes, workMs: 0 }]
}

function* recordWeights(session: Session, namespace: NamespaceStats, folders: EngineFolders | undefined): Weights {
  for (const entry of entriesOf(session, [namespace], folders)) yield [entry.key, weightOf(entry, newestOf(entry))]
}

function weightOf({ keyBytes, value }: RawEntry, newest: Newest | undefined): Weight {
  return { entries: 1, bytes: keyBytes + value.length, workMs: newest?.workMs ?? 0 }
}

function newestOf({ value }: RawEntry): Newest | undefined {
  return newestIn(readText(value, 0, value.length))
}

/** Takes all steps, each of a number of entries, and lets other work of the process run between them. */
async function inSlices(steps: Iterable<number>, total: number, { signal, onProgress }: EngineControl): Promise<void> {
  let done = 0
  let looked = 0
  let lookedMs = performance.now()
  for (const entries of steps) {
    done += entries
    if (done - looked < LOOK_ENTRIES) continue
    looked = done
    if (performance.now() - lookedMs < SLICE_MS) continue
    await setImmediate()
    if (signal?.aborted === true) throw new VarveError('CANCELLED', 'the caller stopped reading the entries')
    onProgress?.(done, total)
    lookedMs = performance.now()
  }
}

/**
 * Finds what the entries of a cache are about, in two passes (`tree.ts`):
 *
 *   1. the engine sums entries and bytes by folder; only the records of tasks are read, for what results cost, and which of them the
 *      last build made
 *   2. the entries of the folders that are listed are read: of records keys and values, of everything else no values
 *
 * Memory has one page, and the sums.
 */
import { setImmediate } from 'node:timers/promises'
import type { ContentsJson } from '../../cli-json.ts'
import type { EngineControl, EngineFolders } from '../../engine/engine.ts'
import { VarveError } from '../../errors.ts'
import type { BuildRecord } from '../../history/record.ts'
import type { NamespaceStats } from '../../reports.ts'
import type { Session } from '../../session/session.ts'
import { groupOf, RECORDS_PREFIX } from '../../task/names.ts'
import { newestIn, type Newest } from '../../task/record.ts'
import { readText } from '../../values/bytes.ts'
import type { Key } from '../../values/key.ts'
import { entriesOf, foldersOf, keysOf, namespacesOf, type RawEntry } from '../open/entries.ts'
import { recordIn } from '../open/tasks.ts'
import { Folders } from './folders.ts'
import { Made } from './made.ts'
import { folderOf, parentOf, placesOf } from './place.ts'
import { Tree, type Weight } from './tree.ts'
import { Wholes } from './wholes.ts'

/** Time between two looks at other work of the process, in milliseconds, and entries between two looks at the time. */
const SLICE_MS = 20
const LOOK_ENTRIES = 256

/** Progress counts entries, those that are only in sums too. */
export async function contentsOf(
  session: Session,
  build: BuildRecord | undefined,
  control: EngineControl,
): Promise<ContentsJson> {
  const [tree, made] = [new Tree(), new Made(build)]
  const namespaces = await namespacesOf(session, undefined)
  const total = namespaces.reduce((sum, { entries }) => sum + 2 * entries, 0)
  await inSlices(addAll(), total, control)
  return { tree: tree.toJson(), made: made.toJson() }

  function* addAll(): Generator<number> {
    const wholes = new Wholes(session, namespaces)
    const folders = new Map<string, Folders>()
    for (const namespace of namespaces) {
      if (wholes.has(namespace.name)) yield* addKeys(session, namespace, tree, wholes)
      else if (isRecords(namespace.name)) folders.set(namespace.name, yield* addRecords(session, namespace, tree, made))
      else folders.set(namespace.name, yield* addFolders(session, namespace, tree))
    }
    for (const { group, parent, weight } of wholes.parts()) tree.add(group, parent, weight)
    tree.choose()
    for (const namespace of namespaces) {
      const group = groupOf(namespace.name)
      const listed = folders.get(namespace.name)?.chosen((folder) => tree.lists(group, parentOf(folder)))
      if (listed?.keyEnds.length === 0) continue // the engine would take this for all folders
      const weights = isRecords(namespace.name)
        ? recordWeights(session, namespace, listed)
        : keyWeights(session, namespace, listed, wholes)
      const place = placesOf(namespace.name)
      for (const [key, weight] of weights) {
        tree.addModule(group, ...place(key), weight)
        yield 1
      }
    }
    for (const { group, parent, module, weight } of wholes.parts()) tree.addModule(group, parent, module, weight)
  }
}

function isRecords(namespace: string): boolean {
  return namespace.startsWith(RECORDS_PREFIX)
}

/** Adds the sums of each folder, and returns the folders. */
function* addFolders(session: Session, namespace: NamespaceStats, tree: Tree): Generator<number, Folders> {
  const [group, folders] = [groupOf(namespace.name), new Folders()]
  for (const { folder, entries, bytes } of foldersOf(session, namespace)) {
    folders.add(folder)
    tree.add(group, parentOf(folder), { entries, bytes, workMs: 0 })
    yield entries
  }
  return folders
}

function* addKeys(session: Session, namespace: NamespaceStats, tree: Tree, wholes: Wholes): Generator<number> {
  const [group, place] = [groupOf(namespace.name), placesOf(namespace.name)]
  for (const [key, weight] of keyWeights(session, namespace, undefined, wholes)) {
    tree.add(group, place(key)[0], weight)
    yield 1
  }
}

/** Adds the records of a task with what their results cost, and returns their folders. */
function* addRecords(session: Session, namespace: NamespaceStats, tree: Tree, made: Made): Generator<number, Folders> {
  const [group, folders] = [groupOf(namespace.name), new Folders()]
  for (const entry of entriesOf(session, [namespace])) {
    const [folder, newest] = [folderOf(entry.key), newestOf(entry)]
    const record = newest !== undefined && made.has(newest) ? recordIn(entry) : undefined
    if (record !== undefined) made.add(record)
    folders.add(folder)
    tree.add(group, parentOf(folder), weightOf(entry, newest))
    yield 1
  }
  return folders
}

type Weights = Generator<readonly [Key, Weight]>

/** The entries of these folders but those whose parts take their place. */
function* keyWeights(
  session: Session,
  namespace: NamespaceStats,
  folders: EngineFolders | undefined,
  wholes: Wholes,
): Weights {
  for (const { key, keyBytes, valueBytes } of keysOf(session, [namespace], folders)) {
    const bytes = keyBytes + valueBytes
    if (!wholes.replaces(namespace.name, key, bytes)) yield [key, { entries: 1, bytes, workMs: 0 }]
  }
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
  let [done, looked, lookedMs] = [0, 0, performance.now()]
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

/**
 * Reads what the entries of a cache are about, each twice (`tree.ts`):
 *
 *   records of tasks     keys and values: what results cost, and which of them the last build made
 *   everything else      keys and lengths of values: no value is read
 *
 * Memory has one page, and the sums.
 */
import { setImmediate } from 'node:timers/promises'
import type { ContentsJson } from '../../cli-json.ts'
import type { EngineControl } from '../../engine/engine.ts'
import { VarveError } from '../../errors.ts'
import type { BuildRecord } from '../../history/record.ts'
import type { NamespaceStats } from '../../reports.ts'
import type { Session } from '../../session/session.ts'
import { groupOf, RECORDS_PREFIX } from '../../task/names.ts'
import { costOf, type Variant } from '../../task/record.ts'
import { entriesOf, keysOf, namespacesOf, type RawEntry } from '../open/entries.ts'
import { type IdRecord, recordIn } from '../open/tasks.ts'
import { Made } from './made.ts'
import { placesOf } from './place.ts'
import { Tree, type Weight } from './tree.ts'
import { Wholes } from './wholes.ts'

/** Time between two looks at other work of the process, in milliseconds, and entries between two looks at the time. */
const SLICE_MS = 20
const LOOK_ENTRIES = 256

/** Progress counts entries. */
export async function contentsOf(session: Session, build: BuildRecord | undefined, control: EngineControl): Promise<ContentsJson> {
  const [tree, made] = [new Tree(), new Made(build)]
  const namespaces = await namespacesOf(session, undefined)
  const total = namespaces.reduce((sum, { entries }) => sum + entries, 0)
  await inSlices(addAll(), 2 * total, control)
  return { tree: tree.toJson(), made: made.toJson() }

  function* addAll(): Generator<undefined> {
    const wholes = new Wholes(session, namespaces)
    for (const namespace of namespaces) {
      yield* isRecords(namespace) ? addRecords(session, namespace, tree, made) : addKeys(session, namespace, tree, wholes)
    }
    for (const { group, parent, weight } of wholes.parts()) tree.add(group, parent, weight)
    tree.choose()
    for (const namespace of namespaces) {
      yield* isRecords(namespace) ? addRecordedModules(session, namespace, tree) : addModules(session, namespace, tree, wholes)
    }
    for (const { group, parent, module, weight } of wholes.parts()) tree.addModule(group, parent, module, weight)
  }
}

function isRecords({ name }: NamespaceStats): boolean {
  return name.startsWith(RECORDS_PREFIX)
}

function* addKeys(session: Session, namespace: NamespaceStats, tree: Tree, wholes: Wholes): Generator<undefined> {
  const [group, place] = [groupOf(namespace.name), placesOf(namespace.name)]
  for (const { key, keyBytes, valueBytes } of keysOf(session, [namespace])) {
    const bytes = keyBytes + valueBytes
    if (!wholes.has(namespace.name, key, bytes)) tree.add(group, place(key)[0], { entries: 1, bytes, workMs: 0 })
    yield
  }
}

function* addRecords(session: Session, namespace: NamespaceStats, tree: Tree, made: Made): Generator<undefined> {
  const [group, place] = [groupOf(namespace.name), placesOf(namespace.name)]
  for (const entry of entriesOf(session, [namespace])) {
    const record = recordIn(entry)
    const newest = newestOf(record)
    if (record !== undefined && newest !== undefined) made.add(record, newest)
    tree.add(group, place(entry.key)[0], weightOf(entry, newest))
    yield
  }
}

function* addModules(session: Session, namespace: NamespaceStats, tree: Tree, wholes: Wholes): Generator<undefined> {
  const [group, place] = [groupOf(namespace.name), placesOf(namespace.name)]
  for (const { key, keyBytes, valueBytes } of keysOf(session, [namespace])) {
    const bytes = keyBytes + valueBytes
    if (!wholes.has(namespace.name, key, bytes)) tree.addModule(group, ...place(key), { entries: 1, bytes, workMs: 0 })
    yield
  }
}

function* addRecordedModules(session: Session, namespace: NamespaceStats, tree: Tree): Generator<undefined> {
  const [group, place] = [groupOf(namespace.name), placesOf(namespace.name)]
  for (const entry of entriesOf(session, [namespace])) {
    const [parent, module] = place(entry.key)
    if (tree.lists(group, parent)) tree.addModule(group, parent, module, weightOf(entry, newestOf(recordIn(entry))))
    yield
  }
}

function weightOf({ keyBytes, value }: RawEntry, newest: Variant | undefined): Weight {
  return { entries: 1, bytes: keyBytes + value.length, workMs: newest === undefined ? 0 : costOf(newest) }
}

/** Takes all steps, and lets other work of the process run between them. */
async function inSlices(steps: Iterable<undefined>, total: number, { signal, onProgress }: EngineControl): Promise<void> {
  let [done, lookedMs] = [0, performance.now()]
  for (const _ of steps) {
    done += 1
    if (done % LOOK_ENTRIES !== 0 || performance.now() - lookedMs < SLICE_MS) continue
    await setImmediate()
    if (signal?.aborted === true) throw new VarveError('CANCELLED', 'the caller stopped reading the entries')
    onProgress?.(done, total)
    lookedMs = performance.now()
  }
}

function newestOf(record: IdRecord | undefined): Variant | undefined {
  let newest: Variant | undefined
  for (const variant of record?.variants ?? []) if (newest === undefined || variant.timeMs > newest.timeMs) newest = variant
  return newest
}

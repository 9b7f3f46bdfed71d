/**
 * Reads what the entries of a cache are about, each once:
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
import { RECORDS_PREFIX } from '../../task/names.ts'
import { costOf, type Variant } from '../../task/record.ts'
import { entriesOf, keysOf, namespacesOf } from '../open/entries.ts'
import { recordIn } from '../open/tasks.ts'
import { Made } from './made.ts'
import { placeOf } from './place.ts'
import { Tree } from './tree.ts'

/** Time between two looks at other work of the process, in milliseconds, and entries between two looks at the time. */
const SLICE_MS = 20
const LOOK_ENTRIES = 256

/** Progress counts entries. */
export async function contentsOf(session: Session, build: BuildRecord | undefined, control: EngineControl): Promise<ContentsJson> {
  const [tree, made] = [new Tree(), new Made(build)]
  const namespaces = await namespacesOf(session, undefined)
  const isRecords = ({ name }: NamespaceStats): boolean => name.startsWith(RECORDS_PREFIX)
  const total = namespaces.reduce((sum, { entries }) => sum + entries, 0)
  await inSlices(addAll(), total, control)
  return { tree: tree.toJson(), made: made.toJson() }

  function* addAll(): Generator<undefined> {
    yield* addRecords(session, namespaces.filter(isRecords), tree, made)
    yield* addKeys(session, namespaces.filter((namespace) => !isRecords(namespace)), tree)
  }
}

function* addKeys(session: Session, namespaces: readonly NamespaceStats[], tree: Tree): Generator<undefined> {
  for (const { namespace, key, keyBytes, valueBytes } of keysOf(session, namespaces)) {
    tree.add(placeOf(namespace.name, key), { entries: 1, bytes: keyBytes + valueBytes, workMs: 0 })
    yield
  }
}

function* addRecords(session: Session, namespaces: readonly NamespaceStats[], tree: Tree, made: Made): Generator<undefined> {
  for (const entry of entriesOf(session, namespaces)) {
    const record = recordIn(entry)
    const newest = newestOf(record?.variants ?? [])
    if (record !== undefined && newest !== undefined) made.add(record, newest)
    const workMs = newest === undefined ? 0 : costOf(newest)
    tree.add(placeOf(entry.namespace.name, entry.key), { entries: 1, bytes: entry.keyBytes + entry.value.length, workMs })
    yield
  }
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

function newestOf(variants: readonly Variant[]): Variant | undefined {
  let newest: Variant | undefined
  for (const variant of variants) if (newest === undefined || variant.timeMs > newest.timeMs) newest = variant
  return newest
}

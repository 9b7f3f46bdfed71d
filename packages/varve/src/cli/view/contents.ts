/**
 * Reads what the entries of a cache are about:
 *
 *   1. keys and lengths of values, as an export of keys streams them: no value is read
 *   2. the records of tasks: what results cost, and which of them the last build made
 *
 * Memory has one chunk or page, and the sums.
 */
import { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { ContentsJson } from '../../cli-json.ts'
import type { EngineControl } from '../../engine/engine.ts'
import { VarveError } from '../../errors.ts'
import type { BuildRecord } from '../../history/record.ts'
import { exportJson } from '../../json/export.ts'
import type { Session } from '../../session/session.ts'
import { RECORDS_PREFIX } from '../../task/names.ts'
import { costOf, type Variant } from '../../task/record.ts'
import { recordsOf, tasksOf } from '../open/tasks.ts'
import { Made } from './made.ts'
import { placeOf } from './place.ts'
import { Tree } from './tree.ts'

/** Time between two looks at other work of the process, in milliseconds. */
const SLICE_MS = 20

/** One line of an export of keys. */
interface KeyLine {
  readonly namespace: string
  readonly key?: string
  readonly keyBase64?: string
  readonly valueBytes: number
}

/** Progress counts bytes of the keys first, then records. */
export async function contentsOf(session: Session, build: BuildRecord | undefined, control: EngineControl): Promise<ContentsJson> {
  const tree = new Tree()
  await exportJson(session, keysInto(tree), { format: 'ndjson', keysOnly: true }, control)
  const made = new Made(build)
  await addRecords(session, tree, made, control)
  return { tree: tree.toJson(), made: made.toJson() }
}

/** A stream that adds the lines of an export of keys; its chunks end with a line. */
function keysInto(tree: Tree): Writable {
  return new Writable({
    write(chunk: Uint8Array, _encoding, done) {
      for (const line of Buffer.from(chunk).toString().split('\n')) if (line !== '') addKey(tree, JSON.parse(line))
      done()
    },
  })
}

function addKey(tree: Tree, { namespace, key, keyBase64, valueBytes }: KeyLine): void {
  const bytes = keyBase64 === undefined ? undefined : new Uint8Array(Buffer.from(keyBase64, 'base64'))
  const keyBytes = bytes?.length ?? Buffer.byteLength(key ?? '')
  tree.add(placeOf(namespace, bytes ?? key ?? ''), { entries: 1, bytes: keyBytes + valueBytes, workMs: 0 })
}

async function addRecords(session: Session, tree: Tree, made: Made, { signal, onProgress }: EngineControl): Promise<void> {
  const tasks = await tasksOf(session, undefined)
  const total = tasks.reduce((sum, { entries }) => sum + entries, 0)
  let [done, lookedMs] = [0, performance.now()]
  for (const record of recordsOf(session, tasks)) {
    const newest = newestOf(record.variants)
    if (newest === undefined) continue
    made.add(record, newest)
    tree.add(placeOf(`${RECORDS_PREFIX}${record.task}`, record.id), { entries: 0, bytes: 0, workMs: costOf(newest) })
    done += 1
    if (performance.now() - lookedMs < SLICE_MS) continue
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

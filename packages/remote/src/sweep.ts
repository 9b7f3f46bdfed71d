/**
 * The sweep of a domain: the object by which garbage collection and publishers agree, so that none removes what another names.
 *
 *   v1/<domain>/sweep    <random id> <milliseconds that the collector may take>
 *                        a line for each object that it is about to remove; none if it has ended
 *
 * Collector and publisher read and write in opposite orders, so one of them sees the other:
 *
 *   1. The publisher makes sure that a head exists, reads the sweep, and writes its objects. It skips objects that exist.
 *   2. Before each attempt to replace the head, it reads the head, then the sweep. If the sweep has changed, the objects of step 1 may be
 *      gone, and it begins again. If the sweep names one of its objects, it publishes nothing.
 *   3. The collector writes the sweep, then replaces every head by one with the same layers and a new generation. A publisher that
 *      was first is in the head that it reads; one that comes later has a conflict, reads again, and sees the sweep.
 *   4. The collector removes what the sweep names and no head does, and writes an empty sweep.
 */
import { randomUUID } from 'node:crypto'
import type { Domain, Remote, Scope } from './remote.ts'

/** What a sweep has when it was read. */
export interface Sweep {
  /** Undefined if there was never one. */
  readonly etag: string | undefined
  /** Milliseconds that its collector may take. */
  readonly budgetMs: number
  readonly names: ReadonlySet<string>
}

/** Most objects of one sweep. */
export const SWEPT_MAX = 50_000
const SWEEP_BYTES_MAX: number = 16 << 20

export function sweepName(domain: Domain): string {
  return `v1/${domain}/sweep`
}

/** The sweep of a domain. A store that cannot replace a head has none, because there is no garbage collection. */
export async function readSweep(
  { store }: Remote,
  { domain }: Pick<Scope, 'domain'>,
  signal: AbortSignal,
): Promise<Sweep> {
  const found = store.capabilities.compareAndSwap
    ? await store.get(sweepName(domain), { bytesMax: SWEEP_BYTES_MAX, signal })
    : undefined
  const [first = '', ...names] = Buffer.from(found?.bytes ?? [])
    .toString()
    .split('\n', SWEPT_MAX + 2) // the object is not signed
    .filter((line) => line !== '')
  return { etag: found?.etag, budgetMs: Number(first.split(' ')[1]) || 0, names: new Set(names) }
}

/** The bytes of a sweep, which differ from those of every other one. */
export function encodeSweep(names: readonly string[], budgetMs: number): Uint8Array {
  return new Uint8Array(Buffer.from([`${randomUUID()} ${budgetMs}`, ...names, ''].join('\n')))
}

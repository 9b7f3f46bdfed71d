/** Divides pending values into groups, one for each pack. */
import type { Etag } from './pointer.ts'

/** A value that webpack has stored and that is not written yet. */
export interface Pending {
  readonly etag: Etag | null
  readonly data: unknown
}

/** Target size of a pack in bytes. Values in a larger pack share more; a smaller one is restored sooner. */
export const PACK_BYTES: number = 2 << 20

/** Values in one pack: the limit, the number in the first pack of a kind, and the most growth from one pack to the next. */
const ITEMS_MAX = 1000
const ITEMS_FIRST = 128
const GROWTH_MAX = 8

/** How many values of a kind fill a pack, estimated from the packs written before. */
export class GroupSizes {
  readonly #next: Map<string, number> = new Map()

  of(kind: string): number {
    return this.#next.get(kind) ?? ITEMS_FIRST
  }

  /** Notes a written pack. The next has at most `GROWTH_MAX` times as many values, because the first may be untypical. */
  note(kind: string, items: number, bytes: number): void {
    const fitting = Math.floor((items * PACK_BYTES) / bytes)
    this.#next.set(kind, Math.min(Math.max(fitting, 1), items * GROWTH_MAX, ITEMS_MAX))
  }
}

/** The kind of an identifier: its text before the first `|`. */
export function kindOf(identifier: string): string {
  return identifier.split('|', 1)[0] ?? ''
}

/** Yields pending values in groups of one kind. Calls `size` before each group. */
export function* groupsOf(
  pending: ReadonlyMap<string, Pending>,
  size: (kind: string) => number,
): Generator<[string, Pending][]> {
  const kinds = new Map<string, [string, Pending][]>()
  for (const one of pending) {
    const kind = kindOf(one[0])
    const found = kinds.get(kind)
    if (found === undefined) kinds.set(kind, [one])
    else found.push(one)
  }
  for (const [kind, all] of kinds) {
    for (let start = 0, end = 0; start < all.length; start = end) {
      end = start + size(kind)
      yield all.slice(start, end)
    }
  }
}

/** Values that wait to be written, and in which groups they go into packs. */
import type { Etag } from './pointer.ts'

/** A value that webpack gave and that is not written yet. */
export interface Pending {
  readonly etag: Etag | null
  readonly data: unknown
}

/** About how many bytes a pack should have: large ones share more, small ones are restored sooner. */
export const PACK_BYTES: number = 2 << 20

/** Values in one pack: at most, and in the first pack of a kind, when their size is not known yet. */
const ITEMS_MAX = 1000
const ITEMS_FIRST = 32
const GROWTH_MAX = 8

/** How many values of a kind make a pack, going by those written before. */
export class GroupSizes {
  readonly #next: Map<string, number> = new Map()

  of(kind: string): number {
    return this.#next.get(kind) ?? ITEMS_FIRST
  }

  /** A pack was written. The next has at most some times as many values: the first of a kind may be unlike the others. */
  note(kind: string, items: number, bytes: number): void {
    const fitting = Math.floor((items * PACK_BYTES) / bytes)
    this.#next.set(kind, Math.min(Math.max(fitting, 1), items * GROWTH_MAX, ITEMS_MAX))
  }
}

/** What an identifier begins with. */
export function kindOf(identifier: string): string {
  return identifier.split('|', 1)[0] ?? ''
}

/** What is pending in groups of one kind; `size` is asked before each. */
export function* groupsOf(pending: ReadonlyMap<string, Pending>, size: (kind: string) => number): Generator<[string, Pending][]> {
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

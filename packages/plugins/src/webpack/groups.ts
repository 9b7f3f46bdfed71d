/** Values that wait to be written, and in which groups they go into packs. */
import type { Etag } from './pointer.ts'

/** A value that webpack gave and that is not written yet. */
export interface Pending {
  readonly etag: Etag | null
  readonly data: unknown
}

/** What is pending in groups of one kind, which is what an identifier begins with; `size` is asked before each. */
export function* groupsOf(pending: ReadonlyMap<string, Pending>, size: () => number): Generator<[string, Pending][]> {
  const kinds = new Map<string, [string, Pending][]>()
  for (const one of pending) {
    const kind = one[0].split('|', 1)[0] ?? ''
    const found = kinds.get(kind)
    if (found === undefined) kinds.set(kind, [one])
    else found.push(one)
  }
  for (const all of kinds.values()) {
    for (let start = 0, end = 0; start < all.length; start = end) {
      end = start + size()
      yield all.slice(start, end)
    }
  }
}

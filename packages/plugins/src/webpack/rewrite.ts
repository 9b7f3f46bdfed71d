/** Which packs are rewritten, and how their values are grouped then. */
import { kindOf, PACK_BYTES } from './groups.ts'
import type { Pointer } from './pointer.ts'

/** Packs of fewer bytes are small. If there are more small packs than the limit, they are merged. */
const SMALL_BYTES = 256 << 10
const SMALL_PACKS_MAX = 12

/** A pack with a smaller share of used values than this is rewritten without its unused values. */
const USED_MIN = 0.85

/** A value in use. */
export interface Use extends Pointer {
  /** Undefined if the value is bound to another checkout. */
  readonly identifier: string | undefined
}

/** The packs with too many unused values, and the small packs if there are too many of them. Those of other checkouts stay. */
export function packsToRewrite(all: readonly Use[][]): Use[][] {
  const packs = all.filter((uses) => uses.every(({ identifier }) => identifier !== undefined))
  const sizeOf = (uses: readonly Use[]): number => uses[0]?.packBytes ?? 0
  const isFull = (uses: readonly Use[]): boolean => uses.length >= (uses[0]?.packItems ?? 0) * USED_MIN
  const small = packs.filter((uses) => isFull(uses) && sizeOf(uses) < SMALL_BYTES)
  return packs.filter((uses) => !isFull(uses)).concat(small.length > SMALL_PACKS_MAX ? small : [])
}

/**
 * Groups of values, one for each new pack: of one environment, of one kind, and of limited size. Kinds differ in size and in how
 * long their values are used. The small values of a mixed pack would keep its large values alive after their last use.
 */
export function groupsOf(uses: readonly Use[]): Use[][] {
  const groups: Use[][] = []
  const open = new Map<string, { group: Use[]; bytes: number }>()
  for (const use of uses) {
    const name = `${use.environment} ${kindOf(use.identifier ?? '')}`
    const bytes = use.packBytes / use.packItems
    let last = open.get(name)
    if (last === undefined || last.bytes + bytes > PACK_BYTES) {
      last = { group: [], bytes: 0 }
      open.set(name, last)
      groups.push(last.group)
    }
    last.group.push(use)
    last.bytes += bytes
  }
  return groups
}

/**
 * Writes what is pending: in slices while webpack is idle, at a stretch when it closes, without waiting when the process
 * ends. What was put counts as pending until it is committed, whichever of the three commits it.
 */
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import type { CommitReport } from 'varve'
import { GroupSizes, groupsOf, kindOf, type Pending } from './groups.ts'
import type { Item, Packs } from './packs.ts'
import { textOf } from './pointer.ts'
import type { VarveWebpackStats } from './stats.ts'
import { HEAVY_BYTES, VALUE_BYTES_MAX, weightOf } from './weight.ts'

/** How long entries are serialised at a stretch in idle time, milliseconds. */
const SLICE_MS = 10

/** Values in the first pack of a slice of idle time. */
const ITEMS_FIRST = 4

/** How long the end of a process may take, milliseconds. */
const EXIT_MS = 1000

/** A commit of fewer bytes than this is done when the call returns; packs at the end of a process are that small. */
const EXIT_PACK_BYTES = 192 << 10

/** Share of an ordinary pack's values in such a pack. */
const EXIT_SHARE = 1 / 32

/** Where packs go. */
export interface Target {
  readonly packs: Pick<Packs, 'write' | 'writeNow' | 'noteOrder'>
  readonly commit: () => Promise<CommitReport>
}

/** What webpack gave and is not committed yet, of one compiler. */
export class Writing {
  readonly pending: Map<string, Pending> = new Map()
  readonly #sizes: GroupSizes = new GroupSizes()
  readonly #stats: VarveWebpackStats
  readonly #debug: (text: string) => void
  #isUncommitted = false

  constructor(stats: VarveWebpackStats, debug: (text: string) => void) {
    this.#stats = stats
    this.#debug = debug
  }

  /** Whether everything is committed. */
  get isDone(): boolean {
    return this.pending.size === 0 && !this.#isUncommitted
  }

  /** Puts what is pending, in slices as long as `isIdle` says so if it is given. Whether all of it was put. */
  async putAll({ packs }: Target, environment: string, isIdle: (() => boolean) | undefined): Promise<boolean> {
    let items = isIdle === undefined ? Number.POSITIVE_INFINITY : ITEMS_FIRST
    for (const group of groupsOf(this.pending, (kind) => Math.min(items, this.#sizes.of(kind)))) {
      const startMs = performance.now()
      await this.#putGroup(packs, environment, group)
      if (isIdle === undefined) continue
      // As many at once as fit into half a slice, going by the last group.
      const spentMs = Math.max(performance.now() - startMs, 0.1)
      items = Math.round(Math.min(Math.max((items * SLICE_MS) / 2 / spentMs, 1), items * 2))
      await setImmediate()
      if (!isIdle()) return false
    }
    return true
  }

  /** Commits what was put. What is put meanwhile needs another commit. */
  async commit({ packs, commit }: Target): Promise<CommitReport> {
    packs.noteOrder()
    this.#isUncommitted = false
    try {
      return await commit()
    } catch (error) {
      this.#isUncommitted = true
      throw error
    }
  }

  /** Puts and commits on this stack, in packs so small that the commit needs no other thread, until EXIT_MS are spent. */
  writeNow({ packs, commit }: Target, environment: string): void {
    const endMs = performance.now() + EXIT_MS
    if (this.pending.size === 0) commit().catch(() => undefined)
    for (const group of groupsOf(this.pending, (kind) => Math.ceil(this.#sizes.of(kind) * EXIT_SHARE))) {
      if (performance.now() > endMs) return
      const { light } = this.#itemsOf(group)
      if (light.length > 0) packs.writeNow(environment, light, EXIT_PACK_BYTES)
      packs.noteOrder()
      commit().catch(() => undefined)
    }
  }

  async #putGroup(packs: Target['packs'], environment: string, group: readonly [string, Pending][]): Promise<void> {
    const { light, heavy } = this.#itemsOf(group)
    const bytes = await this.#put(packs, environment, light)
    if (bytes > 0) this.#sizes.note(kindOf(light[0]?.identifier ?? ''), light.length, bytes)
    for (const item of heavy) await this.#put(packs, environment, [item])
    for (const [identifier, pending] of group) {
      if (this.pending.get(identifier) === pending) this.pending.delete(identifier)
    }
  }

  /** Items for one pack, items for a pack each, and none for what is not stored. */
  #itemsOf(group: readonly [string, Pending][]): { light: Item[]; heavy: Item[] } {
    const light: Item[] = []
    const heavy: Item[] = []
    for (const [identifier, { etag, data }] of group) {
      const weight = weightOf(data)
      const item = { identifier, etag: textOf(etag), data }
      if (weight > VALUE_BYTES_MAX) this.#skip(identifier, `more than ${VALUE_BYTES_MAX >> 20} MiB`)
      else if (weight >= HEAVY_BYTES) heavy.push(item)
      else light.push(item)
    }
    return { light, heavy }
  }

  /** Puts items as a pack, and returns its bytes; if one of them cannot be stored, finds it by halves and leaves it out. */
  async #put(packs: Target['packs'], environment: string, items: readonly Item[]): Promise<number> {
    const [first] = items
    if (first === undefined) return 0
    this.#isUncommitted = true
    const bytes = await packs.write(environment, items)
    if (bytes !== undefined) {
      this.#stats.stored += items.length
      this.#stats.bytesWritten += bytes
      return bytes
    }
    if (items.length === 1) this.#skip(first.identifier, 'not serialisable, or too large')
    else {
      const middle = items.length >> 1
      await this.#put(packs, environment, items.slice(0, middle))
      await this.#put(packs, environment, items.slice(middle))
    }
    return 0
  }

  #skip(identifier: string, reason: string): void {
    this.#stats.skipped += 1
    this.#debug(`skipped ${identifier}: ${reason}`)
  }
}

/**
 * Writes pending values: in slices while webpack is idle, all at once when it closes, and synchronously when the process
 * exits. A value that has been put stays pending until one of the three commits it.
 *
 * Hosts may never close their compiler. On `beforeExit` everything is written; after `process.exit()`, only what can be written
 * synchronously.
 */
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import type { CommitReport } from 'varve'
import { GroupSizes, groupsOf, type Item, kindOf, type Packs, type Pending } from './packs.ts'
import { textOf } from './entries.ts'
import type { VarveWebpackStats } from './options.ts'
import { HEAVY_BYTES, VALUE_BYTES_MAX, weightOf } from './contents.ts'

/** Duration of one slice of idle time while webpack watches, in milliseconds: a rebuild may begin at any moment. */
const SLICE_MS = 10

/** Values in the first pack of such a slice. */
const ITEMS_FIRST = 4

/** Time limit of the writes on exit, in milliseconds. */
const EXIT_MS = 1000

/** Limit of a pack written on exit. The engine commits fewer bytes than this synchronously. */
const EXIT_PACK_BYTES = 192 << 10

/** Number of values in such a pack, as a share of an ordinary pack's values. */
const EXIT_SHARE = 1 / 32

/** The destination of packs. */
export interface Target {
  readonly packs: Pick<Packs, 'write' | 'writeNow' | 'noteOrder' | 'isUnstorable' | 'noteUnstorable'>
  readonly commit: () => Promise<CommitReport>
}

/** The values of one compiler that are not committed yet. */
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

  /**
   * Puts pending values; with `isIdle`, while it returns true. Small packs store and restore much more than large ones, so only
   * webpack in watch mode gets packs that take a slice of time. Returns whether all were put.
   */
  async putAll(
    { packs }: Target,
    environment: string,
    isIdle: (() => boolean) | undefined,
    isWatching = false,
  ): Promise<boolean> {
    if (!(await this.#computeEtags(isIdle))) return false
    const isSliced = isIdle !== undefined && isWatching
    let items = isSliced ? ITEMS_FIRST : Number.POSITIVE_INFINITY
    for (const group of groupsOf(this.pending, (kind) => Math.min(items, this.#sizes.of(kind)))) {
      const startMs = performance.now()
      await this.#putGroup(packs, environment, group)
      if (isIdle === undefined) continue
      // The next group has as many values as fit into half a slice, estimated from this one.
      const spentMs = Math.max(performance.now() - startMs, 0.1)
      if (isSliced) items = Math.round(Math.min(Math.max((items * SLICE_MS) / 2 / spentMs, 1), items * 2))
      await setImmediate()
      if (!isIdle()) return false
    }
    return true
  }

  /**
   * Computes the etags, with `isIdle` in slices of time while it returns true. Many are hashes of sources that are pending themselves, which
   * are stored with them (`source-hashes.ts`). Returns whether all are known.
   */
  async #computeEtags(isIdle: (() => boolean) | undefined): Promise<boolean> {
    let startMs = performance.now()
    for (const { etag } of this.pending.values()) {
      textOf(etag)
      if (isIdle === undefined || performance.now() - startMs < SLICE_MS) continue
      await setImmediate()
      if (!isIdle()) return false
      startMs = performance.now()
    }
    return true
  }

  /** Commits what was put. Values that are put meanwhile need another commit. */
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

  /** Puts and commits synchronously until EXIT_MS have passed, in packs small enough to commit without another thread. */
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
    for (const item of heavy) await this.#putHeavy(packs, environment, item)
    for (const [identifier, pending] of group) {
      if (this.pending.get(identifier) === pending) this.pending.delete(identifier)
    }
  }

  async #putHeavy(packs: Target['packs'], environment: string, item: Item): Promise<void> {
    if (packs.isUnstorable(environment, item)) this.#skip(item.identifier, 'an earlier build could not store it')
    else if ((await this.#put(packs, environment, [item])) === 0) packs.noteUnstorable(environment, item)
  }

  /** Divides a group into items that share a pack and items with a pack of their own. Values over the limit are skipped. */
  #itemsOf(group: readonly [string, Pending][]): { light: Item[]; heavy: Item[] } {
    const light: Item[] = []
    const heavy: Item[] = []
    for (const [identifier, { etag, data }] of group) {
      const weight = weightOf(data)
      const text = textOf(etag)
      const item = { identifier, etag: text ?? null, data }
      if (text === undefined) this.#skip(identifier, 'its etag cannot be computed')
      else if (weight > VALUE_BYTES_MAX) this.#skip(identifier, `more than ${VALUE_BYTES_MAX >> 20} MiB`)
      else if (weight >= HEAVY_BYTES) heavy.push(item)
      else light.push(item)
    }
    return { light, heavy }
  }

  /** Puts items as a pack and returns its bytes. If an item cannot be stored, finds it by bisection and leaves it out. */
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
    this.#stats.skipped.push(identifier)
    this.#debug(`skipped ${identifier}: ${reason}`)
  }
}

/** A layer with pending entries. */
interface Writer {
  write(): unknown
  /** Writes synchronously. */
  writeNow(): void
}

const unwritten: Set<Writer> = new Set()
/** Each writer tries once on `beforeExit`: one that fails must not keep the process alive. */
const untried: Set<Writer> = new Set()
let isListening = false

/** Lets `writer` write before the process exits. */
export function writeBeforeExit(writer: Writer): void {
  // One listener per process: a watching compiler gets here with each build, and Node warns about many listeners.
  if (!isListening) {
    process.on('beforeExit', () => {
      const writers = [...untried]
      untried.clear()
      for (const one of writers) one.write()
    })
    process.on('exit', () => {
      for (const one of unwritten) one.writeNow()
    })
  }
  isListening = true
  unwritten.add(writer)
  untried.add(writer)
}

/** Removes a writer that has nothing left to write. */
export function markWritten(writer: Writer): void {
  unwritten.delete(writer)
  untried.delete(writer)
}

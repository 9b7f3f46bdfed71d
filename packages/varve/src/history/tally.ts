/** Counts and times what an open cache and a build do. The finest source counts: the tool, otherwise its tasks, otherwise lookups of namespaces. */
import { groupOf } from '../host/format.ts'
import { VarveError } from '../errors.ts'
import { checkOptions, describe, type Field, type Fields } from '../checks/options.ts'
import { runningMs } from '../host/own.ts'

/** Phrases of reasons of misses without a name. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['file', 'source changed'],
  ['result', 'result evicted'],
])

/** What the reason begins with why nothing of a build is cached. */
export const REFUSED = 'refused: '

/** The reason of a record, as reports and the history show it. */
export function reasonWords(reason: string): string {
  return REASONS.get(reason) ?? reason.replace(/^list (.+)$/, 'list of $1 changed')
}

/** What a build did with one namespace. Lookups are hot, so they only add. */
export class NamespaceTally {
  readonly name: string
  found = 0
  missed = 0
  puts = 0
  /** Bytes of the values that were read. */
  readBytes = 0

  constructor(name: string) {
    this.name = name
  }

  get uses(): number {
    return this.found + this.missed + this.puts
  }
}

/** The counts of one open cache. */
export class Tally {
  /** From `cache.recordBuild`. */
  readonly tool: Counts = new Counts()
  readonly tasks: Counts = new Counts()
  readonly #namespaces: NamespaceTally[] = []

  /** The counts of one more namespace. */
  namespace(name: string): NamespaceTally {
    const made = new NamespaceTally(name)
    this.#namespaces.push(made)
    return made
  }

  /** Names of the namespaces that were used, the one with the most lookups and puts first. Those of a task count as one. */
  get namespaces(): string[] {
    const uses = new Map<string, number>()
    for (const each of this.#namespaces) {
      const group = groupOf(each.name)
      if (each.uses > 0) uses.set(group, (uses.get(group) ?? 0) + each.uses)
    }
    return [...uses].sort(([, one], [, other]) => other - one).map(([name]) => name)
  }

  /** Bytes of the values that were read. */
  get readBytes(): number {
    return this.#sum((each) => each.readBytes)
  }

  get counts(): Counts {
    if (!this.tool.isEmpty) return this.tool
    if (!this.tasks.isEmpty) return this.tasks
    const lookups = new Counts()
    lookups.hits = this.#sum(({ found }) => found)
    lookups.misses = this.#sum(({ missed }) => missed)
    if (lookups.misses > 0) lookups.reasons.set('new', lookups.misses)
    return lookups
  }

  #sum(countOf: (namespace: NamespaceTally) => number): number {
    return this.#namespaces.reduce((sum, each) => sum + countOf(each), 0)
  }
}

/** Counts for `cache.recordBuild`. */
export interface BuildCounts {
  /** Results that came from the cache. */
  readonly hits: number
  /** Results that the build made. */
  readonly misses: number
  /**
   * Number of misses by reason; `TaskStats.reasons` has the words of tasks. Without misses: why nothing was looked up, such as
   * `refused: <why>`.
   */
  readonly reasons?: Readonly<Record<string, number>> | undefined
  /** Milliseconds that it took to make these hits when they were made. */
  readonly savedMs?: number | undefined
}

const AMOUNT: Field = ['a number from 0', isAmount]
const COUNT_FIELDS: Fields<BuildCounts> = {
  hits: AMOUNT,
  misses: AMOUNT,
  reasons: ['an object of numbers', isReasons],
  savedMs: AMOUNT,
}

/** Counts that grow. */
export class Counts {
  hits = 0
  misses = 0
  savedMs = 0
  readonly reasons: Map<string, number> = new Map()

  hit(savedMs: number): void {
    this.hits++
    this.savedMs += savedMs
  }

  missed(reason: string): void {
    this.misses++
    this.#add(reason, 1)
  }

  /** Adds the counts of a caller. Throws INVALID_OPTION. */
  add(counts: BuildCounts): void {
    checkOptions('recordBuild()', counts, COUNT_FIELDS)
    const { hits, misses, reasons = {}, savedMs = 0 } = counts
    if (!isAmount(hits) || !isAmount(misses)) {
      throw new VarveError(
        'INVALID_OPTION',
        `recordBuild() takes 'hits' and 'misses', not ${describe(hits)} and ${describe(misses)}`,
      )
    }
    this.hits += hits
    this.misses += misses
    this.savedMs += savedMs
    for (const [reason, count] of Object.entries(reasons)) this.#add(reason, count)
  }

  /** Number of results. */
  get count(): number {
    return this.hits + this.misses
  }

  get isEmpty(): boolean {
    return this.count === 0 && this.reasons.size === 0
  }

  #add(reason: string, count: number): void {
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + count)
  }
}

/** Whether a value can count or measure something. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isReasons(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every(isAmount)
}

// What each of several works costs while they run at the same time on one thread: CPU time of the thread where the host reports it, from
// Node.js 23.9 on, otherwise the time in which the thread was busy. Waiting costs nothing. Time in which several run counts for
// each in equal parts, so all costs together never exceed the time that passed.

let running = 0
/** Milliseconds that a work would have cost that ran from the beginning of the process. */
let shareMs = 0
let lookedMs = 0

/**
 * Begins a work of this thread, for `BuildCounts.savedMs`. The returned function ends it and returns its cost in
 * milliseconds, to a tenth. Call it once, also if the work fails.
 */
export function startWork(): () => number {
  const startMs = look()
  running += 1
  return () => {
    const costMs = look() - startMs
    running -= 1
    return Math.round(costMs * 10) / 10
  }
}

/** Whether costs are CPU time of the thread. */
export function isCpuTime(): boolean {
  return typeof threadCpuUsage() === 'function'
}

function look(): number {
  const nowMs = spentMs()
  if (running > 0) shareMs += Math.max(0, nowMs - lookedMs) / running
  lookedMs = nowMs
  return shareMs
}

/** Milliseconds that this thread has spent since some time. */
function spentMs(): number {
  const usage = threadCpuUsage()?.()
  if (usage !== undefined) return (usage.user + usage.system) / 1000
  const { performance }: Host = globalThis
  return runningMs() - (performance?.eventLoopUtilization?.().idle ?? 0)
}

/** What hosts other than Node.js, and older ones, do not have. */
interface Host {
  readonly performance?: { readonly timeOrigin?: number; eventLoopUtilization?(): { readonly idle: number } }
  readonly process?: { readonly versions?: object; threadCpuUsage?(): CpuTime }
}

/** In microseconds. */
interface CpuTime {
  readonly user: number
  readonly system: number
}

function threadCpuUsage(): (() => CpuTime) | undefined {
  const { process }: Host = globalThis
  return process?.threadCpuUsage?.bind(process)
}

/** Counts what an open cache and a build do. The finest source counts: the tool, otherwise its tasks, otherwise lookups of namespaces. */
import { groupOf } from '../task/names.ts'
import { VarveError } from '../errors.ts'
import { checkOptions, describe, type Field, type Fields } from '../checks/options.ts'

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
  /** Number of misses by reason; `TaskStats.reasons` has the words of tasks. */
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
    return this.count === 0
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

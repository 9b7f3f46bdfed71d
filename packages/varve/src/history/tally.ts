/** Counts what an open cache does. The finest source counts: the tool, otherwise its tasks, otherwise lookups of namespaces. */
import { groupOf } from '../task/names.ts'
import { Counts } from './counts.ts'

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

  /** The counts of this build. */
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

/** The stored generations of a scope: written before a commit, compared with the present when results are looked up. */
import { builtin } from '../host/builtin.ts'
import type { Root } from '../inputs/root.ts'
import type { Disk } from '../inputs/input.ts'
import { isOutdated, type Sink } from './sink.ts'
import { type ChangedInput, Comparison, readSet, sealSet, type StoredInput } from '../inputs/set.ts'

/** Where sets are kept. No method throws. */
export interface ReadStore {
  get(key: string): unknown
  put(key: string, value: unknown): void
}

/** How a generation stands: its results hold, or something changed, or it is not known. */
export type Verdict = 'same' | 'changed' | 'unknown'

/** The generations of one scope. */
export class Generations {
  readonly #root: Root
  readonly #disk: Disk
  #store: ReadStore | undefined
  #current: string = makeId()
  #isUsed = false
  #comparison: Comparison | undefined
  readonly #verdicts: Map<string, Verdict> = new Map()

  constructor(root: Root, disk: Disk) {
    this.#root = root
    this.#disk = disk
  }

  get current(): string {
    return this.#current
  }

  get isUsed(): boolean {
    return this.#isUsed
  }

  attach(store: ReadStore): void {
    this.#store = store
  }

  /** The current one, which is to be put. */
  use(): string {
    this.#isUsed = true
    return this.#current
  }

  /** Begins another one. */
  next(): void {
    this.#current = makeId()
    this.#isUsed = false
  }

  /** Forgets what was compared. */
  begin(): void {
    this.#verdicts.clear()
    this.#comparison = undefined
  }

  /** Puts the set of the current one. */
  put(reads: readonly StoredInput[]): void {
    const { digest, set } = sealSet(reads)
    this.#store?.put(`generation ${this.#current}`, digest)
    this.#store?.put(`set ${digest}`, set)
  }

  /** Whether results of a generation may be used; compared once if `isOnce`, until `begin`. */
  verdict(id: string, isOnce: boolean): Verdict {
    if (!isOnce) this.begin()
    const known = this.#verdicts.get(id)
    if (known !== undefined) return known
    const verdict = this.#compare(id)
    this.#verdicts.set(id, verdict)
    return verdict
  }

  /** Everything that changed since; empty for an unknown generation. */
  changes(id: string): readonly ChangedInput[] {
    const set = this.#setOf(id)?.set
    if (set === undefined) return []
    return new Comparison(this.#disk, this.#root, isOutdated).changes(set)
  }

  /** Reports every read of a set to a sink. */
  forward(id: string, sink: Sink): void {
    forwardInputs(this.#setOf(id)?.set ?? [], this.#root, sink)
  }

  #compare(id: string): Verdict {
    const found = this.#setOf(id)
    if (found === undefined) return 'unknown'
    const known = this.#verdicts.get(`set ${found.digest}`)
    if (known !== undefined) return known
    this.#comparison ??= new Comparison(this.#disk, this.#root, isOutdated)
    const compared = this.#comparison.compare(found.set)
    if (compared === 'restamped') this.#store?.put(`set ${found.digest}`, this.#comparison.restamped(found.set))
    const verdict = compared === 'changed' ? 'changed' : 'same'
    this.#verdicts.set(`set ${found.digest}`, verdict)
    return verdict
  }

  #setOf(id: string): { readonly digest: string; readonly set: readonly StoredInput[] } | undefined {
    const digest = id === '' ? undefined : this.#store?.get(`generation ${id}`)
    if (typeof digest !== 'string') return undefined
    const set = readSet(this.#store?.get(`set ${digest}`))
    // A set that is not the one which the generation had would be another one's inputs.
    return set === undefined || sealSet(set).digest !== digest ? undefined : { digest, set }
  }
}

function makeId(): string {
  return builtin('node:crypto')?.randomBytes(12).toString('base64url') ?? String(Math.random())
}

/** Reports every input of a set to a sink. */
export function forwardInputs(set: readonly StoredInput[], root: Root, sink: Sink): void {
  for (const [kind, name] of set) {
    if (kind === 'env') sink.variable(name, false)
    else if (kind === 'names') sink.variables(name)
    else sink.read(kind, root.absolute(name))
  }
}

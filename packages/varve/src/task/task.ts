/**
 * A task: work whose results are kept, and used again where everything they depend on is as it was. Made by `cache.task`.
 *
 *   run -> hash the inputs -> look for a variant that holds -> hit: its result
 *                                                           -> miss: join who does this work already, or
 *                                                              look at files -> work -> look again -> put
 */
import type * as fs from 'node:fs'
import { Counters, type TaskStats } from './counters.ts'
import type { Flights, Landing } from './flights.ts'
import { type Asked, differences, match, namesIn } from './lookup.ts'
import type { TaskRequest, TaskWork } from './options.ts'
import { findAdded, Present } from './present.ts'
import type { Digests, Variant } from './record.ts'
import { Recording } from './recording.ts'
import { askedOf } from './request.ts'
import type { Root } from './root.ts'
import type { Shelf } from './shelf.ts'

/** What a task is made of. */
export interface TaskParts<V> {
  readonly name: string
  readonly shelf: Shelf<V>
  readonly flights: Flights
  readonly fs: typeof fs
  readonly root: Root
  /** Inputs of all runs. */
  readonly inputs: Digests
  readonly findInput: ((name: string, id: string) => unknown) | undefined
}

const NONE_ADDED: ReadonlyMap<string, string> = new Map()

/**
 * Work whose results are kept.
 *
 * @typeParam V - type of the results
 */
export class Task<V> {
  readonly name: string
  readonly #parts: TaskParts<V>
  readonly #counters: Counters = new Counters()

  /** @internal */
  constructor(parts: TaskParts<V>) {
    this.name = parts.name
    this.#parts = parts
  }

  /**
   * The result of `work` for this request: from the cache where everything it depends on is as it was, else by doing the
   * work. Runs of the same request at the same time do it once. A result is buffered like any `put`: others have it after
   * `cache.commit()`. Where the work throws, so does every run that waits for it, and nothing is stored.
   *
   * Rejects with what `work` throws; with INVALID_OPTION, INVALID_ARGUMENT or CLOSED.
   *
   * @example
   * const code = await task.run({ id, inputs: { source, options } }, () => compile(source, options))
   */
  async run(request: TaskRequest, work: TaskWork<V>): Promise<V> {
    const { root, inputs, shelf } = this.#parts
    const asked = askedOf(request, inputs, root)
    const variants = shelf.variants(asked.key)
    const present = hasAdded(variants) ? await this.#present(variants, request.id) : new Present(this.#parts.fs, root, NONE_ADDED)
    let isLost = false
    for (const [index, variant] of variants.entries()) {
      const found = match(variant, asked, present)
      if (found === 'changed') continue
      const hit = shelf.result(asked.key, variant)
      isLost ||= hit === undefined
      if (hit === undefined) continue
      this.#counters.hits++
      if (found === 'moved') this.#counters.healed++
      shelf.used(asked.key, variants, index, found === 'moved' ? present.files : undefined)
      return hit.value
    }
    return this.#join(asked, present, work, () => (isLost ? 'result' : reasonOf(variants, asked, present)))
  }

  /** What became of the runs so far, on this handle. */
  stats(): TaskStats {
    return this.#counters.snapshot()
  }

  /** Waits for who does this work already, or does it. */
  async #join(asked: Asked, present: Present, work: TaskWork<V>, reason: () => string): Promise<V> {
    const env = asked.env.map((variable) => [variable, present.env(variable)])
    const name = JSON.stringify([this.name, asked.key, asked.inputs, env, asked.files])
    const { isJoined, landing } = await this.#parts.flights.join(name, () => this.#fly(asked, present, work, reason))
    // What came out may be another run's own; who waited for it looks at the files as they are now.
    const landed = isJoined && landing.kind === 'own' ? await this.#fly(asked, await this.#present([], ''), work, reason) : landing
    if (isJoined && landed === landing) this.#counters.shared++
    if (landed.kind === 'failed') throw landed.error
    return landed.value as V
  }

  /** Does the work and puts its result. Never rejects. */
  async #fly(asked: Asked, present: Present, work: TaskWork<V>, reason: () => string): Promise<Landing> {
    const { root, shelf, findInput } = this.#parts
    this.#counters.missed(reason())
    const recording = new Recording(asked, present, root, findInput !== undefined)
    let value: V
    try {
      value = await work(recording)
    } catch (error) {
      recording.finish()
      this.#counters.notStored++
      return { kind: 'failed', error }
    }
    const outcome = recording.finish()
    const isStored =
      outcome.kind === 'storable' && shelf.put(asked.key, { inputs: asked.inputs, ...outcome.recorded, timeMs: Date.now() }, value)
    if (!isStored) this.#counters.notStored++
    return { kind: outcome.kind === 'changed' || outcome.kind === 'skipped' ? 'own' : 'done', value }
  }

  async #present(variants: readonly Variant[], id: string): Promise<Present> {
    const { fs: files, root, findInput } = this.#parts
    const names = new Set(variants.flatMap((variant) => namesIn(variant.added)))
    return new Present(files, root, findInput === undefined ? NONE_ADDED : await findAdded(names, id, findInput))
  }
}

function hasAdded(variants: readonly Variant[]): boolean {
  return variants.some((variant) => variant.added.length > 0)
}

/** Why no variant holds, in a word or two: the first thing in which the nearest differs. */
function reasonOf(variants: readonly Variant[], asked: Asked, present: Present): string {
  const nearest = variants.map((variant) => differences(variant, asked, present)).sort((a, b) => a.length - b.length)[0]
  if (nearest === undefined) return 'new'
  const [first] = nearest
  if (first === undefined) return 'result'
  return first.kind === 'file' ? 'file' : `${first.kind} ${first.name}`
}

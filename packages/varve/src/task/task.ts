/**
 * A task: work whose results are cached, and used again while everything they depend on is unchanged. Made by `cache.task`.
 *
 *   run -> hash the inputs -> find a variant that holds -> hit: its result
 *                                                       -> miss: wait for equal work in flight, or
 *                                                          stat files -> work -> stat again -> put
 */
import { VarveError, toVarveError } from '../errors.ts'
import { describe } from '../checks/options.ts'
import { startWork, Counts } from '../history/tally.ts'
import { type Outcome, join } from './in-flight.ts'
import type { ReadScope } from '../reads/scope.ts'
import { type Sink, outerSink, release } from '../reads/sink.ts'
import { type Asked, askedOf, findAdded, isAsked, match, type SharedDependencies } from './request.ts'
import type { Disk } from '../inputs/input.ts'
import { Comparison, type Match, type StoredInput } from '../inputs/set.ts'
import { type Shelf, type Variant, costOf, inputOf, namesIn } from './record.ts'
import type { TaskContext, TaskInputs, TaskRequest } from './options.ts'
import { Recording } from './recording.ts'
import type { Root } from '../inputs/root.ts'
import { nowMs } from '../host/own.ts'
import { jsonOf } from '../values/json.ts'
import { type WhyReport, nearestOf, reasonOf, whyOf } from './why.ts'

/** The parts of a task. */
export interface TaskParts<V> {
  readonly name: string
  readonly shelf: Shelf<V>
  /** Distinguishes the cache from others of this process. */
  readonly place: string
  /** Undefined in hosts without files. */
  readonly disk: Disk | undefined
  readonly root: Root
  /** Records what the work reads, if that is tracked. */
  readonly scope: ReadScope | undefined
  readonly shared: SharedDependencies
  readonly findInput: ((name: string, id: string) => unknown) | undefined
  /** Counts the runs of all tasks of the cache. */
  readonly counts: Counts
}

/** A request, its variants, and the present state of their dependencies. */
interface Search {
  readonly asked: Asked
  readonly variants: readonly Variant[]
  readonly present: Comparison
}

/** The work of a task: makes the result. */
type Work<V> = (context: TaskContext) => V | Promise<V>

/**
 * Work whose results are cached.
 *
 * @typeParam V - type of the results
 */
export class Task<V> {
  readonly name: string
  readonly #parts: TaskParts<V>
  readonly #counters: Counters

  /** @internal */
  constructor(parts: TaskParts<V>) {
    this.name = parts.name
    this.#parts = parts
    this.#counters = new Counters(parts.counts)
  }

  /**
   * The result of `work` for this request: from the cache if everything it depends on is unchanged, otherwise from doing the
   * work. Equal requests of one thread at the same time do the work once. The result is buffered like any `put`; other processes see it
   * after `cache.commit()`. If the work throws, every run that waits for it rejects, and nothing is stored. Work may run
   * other tasks; a run that would wait for itself is refused. If the task has no type of its own, the result has the type
   * that `work` returns.
   *
   * Rejects with the error of `work`; with TASK_CYCLE, INVALID_OPTION, INVALID_ARGUMENT or CLOSED.
   *
   * @example
   * const code = await task.run({ id, inputs: { source, options } }, () => compile(source, options))
   */
  async run<R extends V>(
    request: TaskRequest,
    work: (context: TaskContext) => R | Promise<R>,
  ): Promise<unknown extends V ? R : V> {
    return this.#run(request, work) as Promise<unknown extends V ? R : V>
  }

  /**
   * `run` for each request, for a tool that knows them all, such as all modules of a build: files that results depend on are checked
   * together, on all cores and without the thread of the program. The results have the order of the requests. One whose work threw is
   * `rejected`, and does not affect others. `work` gets the request as its second argument.
   *
   * Rejects with INVALID_ARGUMENT unless `requests` is an array and `work` a function.
   *
   * @example
   * const results = await task.runMany(files.map((id) => ({ id, files: [id] })), (context, { id }) => compile(id))
   */
  async runMany<R extends V>(
    requests: readonly TaskRequest[],
    work: (context: TaskContext, request: TaskRequest) => R | Promise<R>,
  ): Promise<PromiseSettledResult<unknown extends V ? R : V>[]> {
    if (!Array.isArray(requests)) throw noRequests(this.name, requests)
    if (typeof work !== 'function') throw noWork('task.runMany()', this.name, work)
    release()
    const searches = await this.#searchMany(requests)
    return Promise.allSettled(
      requests.map(async (request, index) => {
        const search = searches[index]
        const hit = search === undefined ? undefined : this.#hit(request, search)
        const value = hit === undefined ? this.#run(request, (context) => work(context, request)) : hit.value
        return value as unknown extends V ? R : V
      }),
    )
  }

  async #run(request: TaskRequest, work: Work<V>): Promise<V> {
    const wanted = askedOf('task.run()', request, this.#parts.shared, this.#parts.root)
    if (typeof work !== 'function') throw noWork('task.run()', this.name, work)
    release()
    const begun = this.#search(wanted)
    const search = begun instanceof Promise ? await begun : begun
    const hit = this.#hit(request, search)
    return hit === undefined ? this.#join(search, work) : hit.value
  }

  /** The first variant that holds, and whose result the caller accepts. */
  #hit({ accept }: TaskRequest, { asked, variants, present }: Search): { readonly value: V } | undefined {
    for (const [index, variant] of variants.entries()) {
      const found = this.#match(variant, asked, present)
      const hit = found === 'changed' ? undefined : this.#parts.shelf.result(asked.key, variant)
      if (hit === undefined || !isAccepted(accept, hit.value)) continue
      this.#counters.hit(costOf(variant))
      if (found === 'restamped') this.#counters.healed++
      this.#forward(variant)
      this.#parts.shelf.used(asked.key, variant, index, found === 'restamped' ? present : undefined)
      return hit
    }
    return undefined
  }

  /**
   * What `run` would find now for this id and these inputs, and all differences from the nearest entry, with digests before
   * and after. Changes nothing.
   *
   * Rejects with INVALID_OPTION, INVALID_ARGUMENT or CLOSED.
   *
   * @example
   * const { outcome, differences } = await task.why(id, { source, options })
   */
  async why(id: string, inputs?: TaskInputs, others?: Pick<TaskRequest, 'files' | 'env'>): Promise<WhyReport> {
    const wanted = askedOf('task.why()', { ...others, id, inputs }, this.#parts.shared, this.#parts.root)
    const { asked, variants, present } = await this.#search(wanted)
    const nearest = nearestOf(variants, asked, present, this.#parts.scope)
    const report = { task: this.name, id: asked.key, variants: variants.length, timeMs: nearest?.variant.timeMs }
    if (nearest === undefined) return { ...report, outcome: 'new', differences: [] }
    const { variant, differences } = nearest
    if (differences.length > 0) return { ...report, outcome: 'changed', differences }
    return {
      ...report,
      outcome: this.#parts.shelf.result(asked.key, variant) === undefined ? 'lost' : 'hit',
      differences,
    }
  }

  /** The outcomes of the runs so far, of this task object. */
  stats(): TaskStats {
    return this.#counters.snapshot()
  }

  /** Prepares the search for `asked`; a promise only if an earlier run added inputs, which may take time to find. */
  #search(asked: Asked): Search | Promise<Search> {
    const { disk, root, findInput, shelf } = this.#parts
    const variants = shelf.variants(asked.key)
    const search = { asked, variants, present: new Comparison(disk, root) }
    const isAdded = variants.some((variant) => variant.added.length > 0)
    if (!isAdded || findInput === undefined) return search
    const names = new Set(variants.flatMap((variant) => namesIn(variant.added)))
    return findAdded(names, asked.key, findInput).then((added) => ({ ...search, asked: { ...asked, added } }))
  }

  /**
   * Searches for requests whose files are compared together. Undefined for those that `run` has to search for: requests that it refuses, and
   * ids to whose results an earlier run added inputs.
   */
  async #searchMany(requests: readonly TaskRequest[]): Promise<readonly (Search | undefined)[]> {
    const { disk, root, shared, shelf } = this.#parts
    const present = new Comparison(disk, root)
    try {
      const asked = requests.map((request) => attempt(() => askedOf('task.runMany()', request, shared, root)))
      const keys = [...new Set(asked.flatMap((one) => (one === undefined ? [] : [one.key])))]
      const found = new Map(shelf.variantsOfMany(keys).map((variants, index) => [keys[index], variants]))
      const searches = asked.map((one): Search | undefined => {
        const variants = found.get(one?.key) ?? []
        const isKnown = one !== undefined && variants.every((variant) => variant.added.length === 0)
        return isKnown ? { asked: one, variants, present } : undefined
      })
      const filesOf = (search: Search | undefined): readonly StoredInput[] =>
        search?.variants.find((variant) => isAsked(variant, search.asked))?.files.map(inputOf) ?? []
      await present.prepare(searches.flatMap(filesOf))
      return searches
    } catch {
      return [] // each run reports what is wrong with the cache
    }
  }

  /** Passes the dependencies of a result on to the work of another task that requested it. */
  #forward({ files, env, reads }: Variant): void {
    const outer = outerSink()
    if (outer === undefined) return
    for (const [path] of files) outer.read('content', this.#parts.root.absolute(path))
    for (const name of namesIn(env)) outer.variable(name, false)
    if (reads !== undefined) this.#parts.scope?.forward(reads, outer)
  }

  /** Whether a variant holds, including the reads of its work. */
  #match(variant: Variant, asked: Asked, present: Comparison): Match {
    const { scope } = this.#parts
    const found = match(variant, asked, present)
    if (found === 'changed' || scope === undefined) return found
    return variant.reads !== undefined && scope.verdict(variant.reads) === 'same' ? found : 'changed'
  }

  /** Does the work; its undeclared reads count for the scope. */
  async #work(asked: Asked, recording: Recording, work: Work<V>): Promise<V> {
    const { root, scope } = this.#parts
    if (scope === undefined) return work(recording)
    const own = root.absolute(root.relative(asked.about ?? asked.key))
    const call = scope.call({ path: own, isGiven: asked.isGiven })
    try {
      return await call.run(() => work(recording))
    } finally {
      const { hasReadOwn, written } = call.finish(recording.declared.map((path) => root.absolute(path)))
      if (hasReadOwn) recording.addFile(own)
      if (written !== undefined) recording.refuseWritten(written)
    }
  }

  /** Waits for equal work in flight, or does the work. */
  async #join(search: Search, work: Work<V>): Promise<V> {
    const { asked, present } = search
    const { place, shelf, root } = this.#parts
    const outer = outerSink()
    const env = asked.env.map((variable) => [variable, present.now('env', variable)])
    const { isShared, outcome } = await join(place, {
      name: jsonOf([this.name, shelf.version, root.folder, asked.key, asked.inputs, env, asked.files]),
      step: { task: this.name, id: asked.key },
      work: async (isLate) => this.#make(isLate ? await this.#search(asked) : search, work),
    })
    const isKnown = !isShared || outer === undefined || outcome.kind === 'own' || outcome.forward?.(outer) !== false
    if (!isKnown) return this.#join(await this.#search(asked), work)
    if (isShared) this.#counters.shared++
    if (outcome.kind === 'failed') throw outcome.error
    return outcome.value as V
  }

  /** Does the work and puts its result. Never rejects. */
  async #make({ asked, variants, present }: Search, work: Work<V>): Promise<Outcome> {
    const { root, shared, shelf, scope, findInput } = this.#parts
    const nearest = nearestOf(variants, asked, present, scope)
    const reason = reasonOf(nearest, shared.files)
    const why = whyOf(nearest, asked.explain)
    this.#counters.missed(reason)
    const recording = new Recording(asked, present, root, { reason, why, canFind: findInput !== undefined })
    const generation = scope?.current
    const forward = (outer: Sink): boolean => {
      if (generation !== undefined && scope?.verdict(generation) !== 'same') return false
      recording.forward(outer)
      if (generation !== undefined) scope?.forward(generation, outer)
      return true
    }
    const endWork = startWork()
    let workMs = 0
    let value: V
    try {
      value = await this.#work(asked, recording, work)
      workMs = endWork()
    } catch (error) {
      endWork()
      recording.finish()
      this.#counters.notStored++
      return { kind: 'failed', error, forward }
    }
    const outcome = recording.finish()
    try {
      if (outcome.kind === 'written') scope?.refuseWritten(outcome.path)
      const isStorable = outcome.kind === 'storable' && scope?.reason === undefined
      const reads = isStorable ? scope?.generation : undefined
      const made = { reads, timeMs: nowMs(), workMs: workMs + recording.workMs, why }
      const isStored = isStorable && shelf.put(asked.key, { inputs: asked.inputs, ...outcome.recorded, ...made }, value)
      if (!isStored) this.#counters.notStored++
    } catch (error) {
      this.#counters.notStored++
      return { kind: 'failed', error: this.#cannotHold(asked.key, error), forward }
    }
    return outcome.kind === 'changed' || outcome.kind === 'skipped'
      ? { kind: 'own', value }
      : { kind: 'done', value, forward }
  }

  #cannotHold(id: string, error: unknown): VarveError {
    const { code, message } = toVarveError(error)
    return new VarveError(code, `the result of task '${this.name}' for '${id}': ${message}`, { cause: error })
  }
}

function noRequests(name: string, given: unknown): VarveError {
  const message = `task.runMany() of '${name}' takes an array of requests as its first argument, not ${describe(given)}`
  return new VarveError('INVALID_ARGUMENT', message)
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

function noWork(call: string, name: string, given: unknown): VarveError {
  const message = `${call} of '${name}' takes the work as its second argument, a function that makes the result, not ${describe(given)}`
  return new VarveError('INVALID_ARGUMENT', message)
}

/** Whether the caller accepts a stored result. */
function isAccepted(accept: TaskRequest['accept'], value: unknown): boolean {
  try {
    return accept === undefined || accept(value)
  } catch {
    return false
  }
}

/** Outcomes of the runs of one task object. */
export interface TaskStats {
  /** Runs whose result was in the cache. */
  readonly hits: number
  /** Runs that did the work. */
  readonly misses: number
  /** Runs that received the result of another run in flight. */
  readonly shared: number
  /** Hits with files that had new times and the same content; their entries were renewed. */
  readonly healed: number
  /** Misses whose result was not stored: a file changed while the work ran, `skipStore`, an error, a result that its codec refuses. */
  readonly notStored: number
  /**
   * Why runs missed: 'new' (nothing stored for that id), 'input <name>', 'env <name>', 'file' (one that the run declared),
   * 'file <path>' (one of `sharedFiles`), 'file <path>', 'list <directory>' and 'env <name>' (read by the work), 'reads not stored',
   * 'result' (the entry exists, its result does not), with the number of each. A run with several differences counts for the first.
   */
  readonly reasons: Readonly<Record<string, number>>
  /**
   * Milliseconds that the results of the hits took when they were made. Time in which several works of a thread ran counts
   * for each in equal parts. The time of the lookups is not subtracted.
   */
  readonly savedMs: number
}

/** The counters of one task. */
export class Counters {
  shared = 0
  healed = 0
  notStored = 0
  readonly #own: Counts = new Counts()
  /** Those of all tasks of the cache. */
  readonly #all: Counts

  constructor(all: Counts) {
    this.#all = all
  }

  hit(savedMs: number): void {
    this.#own.hit(savedMs)
    this.#all.hit(savedMs)
  }

  missed(reason: string): void {
    this.#own.missed(reason)
    this.#all.missed(reason)
  }

  snapshot(): TaskStats {
    const { shared, healed, notStored } = this
    const { hits, misses, reasons, savedMs } = this.#own
    return { hits, misses, shared, healed, notStored, reasons: Object.fromEntries(reasons), savedMs }
  }
}

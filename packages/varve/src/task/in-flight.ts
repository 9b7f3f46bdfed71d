/** Work in flight on this thread, so that equal work runs once, also if several handles of a cache ask for it. */
import { TaskCycleError, type TaskStep } from '../errors.ts'
import { digestOfText } from '../inputs/digest.ts'
import type { Sink } from '../reads/sink.ts'
import type { AsyncLocalStorage } from 'node:async_hooks'
import { builtin } from '../host/builtin.ts'
import type { Once } from '../session/namespace.ts'
import type { Session } from '../session/session.ts'
import { readKey, writeKey } from '../values/bytes.ts'
import { jsonOf } from '../values/json.ts'

/** How work ended, for every caller that waits for it. */
export type Outcome =
  | { readonly kind: 'done'; readonly value: unknown; readonly forward?: Forward }
  | { readonly kind: 'failed'; readonly error: unknown; readonly forward?: Forward }
  /** Done, for one run only: files changed while it ran, or the work asked for it. */
  | { readonly kind: 'own'; readonly value: unknown }

/** Passes what the work depends on to the work around a caller that waited for it. False if that is not known any more. */
export type Forward = (outer: Sink) => boolean

/** How a request ended, and whether the work of another caller answered it. */
export interface Joined {
  readonly isShared: boolean
  readonly outcome: Outcome
}

/** One request for work. */
export interface WorkRequest {
  /** Names everything the work depends on. */
  readonly name: string
  /** Names the work in messages. */
  readonly step: TaskStep
  /** Does the work; never rejects. `isLate`: time has passed since the request. */
  work(isLate: boolean): Promise<Outcome>
}

/** The work in flight on this thread, of all caches. */
const running: Map<string, Promise<Outcome>> = new Map()

/**
 * Waits for the caller that does this work already, or does it. `place` is the directory of the cache. Rejects with
 * TASK_CYCLE if the work would wait for itself.
 */
export function join(place: string, request: WorkRequest): Promise<Joined> {
  const work = new Work(digestOfText(jsonOf([place, request.name])), request.step)
  return waitFor(work.name, () => joinNow(request, work))
}

async function joinNow(request: WorkRequest, work: Work): Promise<Joined> {
  const started = running.get(work.name)
  if (started !== undefined) {
    const outcome = await started
    // An outcome for one run only does not answer this request, which has to look at the files as they are now.
    return outcome.kind === 'own'
      ? { isShared: false, outcome: await during(work, () => request.work(true)) }
      : { isShared: true, outcome }
  }
  const outcome = during(work, () => request.work(false))
  running.set(work.name, outcome)
  try {
    return { isShared: false, outcome: await outcome }
  } finally {
    running.delete(work.name)
  }
}

/**
 * Detects work that waits for itself, which would hang: A requests B in its work, and B, directly or through others, requests
 * A. A run that work requests counts as awaited by that work until it ends; AsyncLocalStorage identifies the work.
 *
 * Some milliseconds after a wait began, all waits of the thread are checked once. The youngest wait of a cycle, also of one
 * through several handles, fails with TASK_CYCLE. A cycle that comes about later has a wait that began later, so nothing is
 * checked again without a new wait.
 */

/** Milliseconds after which a wait is checked. One check takes about 0.1 us for each wait of the thread. */
const LOOK_MS = 20

/** Work under way on this thread. */
export class Work {
  /** Names everything that it depends on, and the directory of its cache. */
  readonly name: string
  readonly step: TaskStep
  readonly waits: Set<Wait> = new Set()

  constructor(name: string, step: TaskStep) {
    this.name = name
    this.step = step
  }
}

/** Work that asked for other work, and waits for it. */
class Wait {
  readonly number: number
  readonly by: Work
  /** Of the work that it waits for. */
  readonly name: string
  /** Never resolves. */
  readonly failed: Promise<never>
  #reject: (error: unknown) => void = () => undefined
  isFailed = false

  constructor(number: number, by: Work, name: string) {
    this.number = number
    this.by = by
    this.name = name
    this.failed = new Promise((_, reject) => (this.#reject = reject))
  }

  fail(chain: readonly TaskStep[]): void {
    this.isFailed = true
    this.#reject(new TaskCycleError(chain.map(({ task, id }) => ({ task, id }))))
  }
}

/** The waits of this thread. */
class Waits {
  readonly #current: AsyncLocalStorage<Work>
  readonly #underWay: Map<string, Work> = new Map()
  #number = 0
  #waiting = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(Storage: typeof AsyncLocalStorage) {
    this.#current = new Storage()
  }

  async during<T>(work: Work, run: () => Promise<T>): Promise<T> {
    this.#underWay.set(work.name, work)
    try {
      return await this.#current.run(work, run)
    } finally {
      if (this.#underWay.get(work.name) === work) this.#underWay.delete(work.name)
      // Before Node.js 24 every await of the process takes 0.1 us more while a storage is in use.
      if (this.#underWay.size === 0) this.#current.disable()
    }
  }

  async wait<T>(name: string, run: () => Promise<T>): Promise<T> {
    const by = this.#current.getStore()
    if (by === undefined) return run()
    const wait = new Wait(this.#number++, by, name)
    by.waits.add(wait)
    this.#waiting++
    this.#timer ??= setTimeout(() => this.#look(), LOOK_MS)
    try {
      await undefined // so that runs inside of runs inside of runs do not fill the stack
      return await Promise.race([run(), wait.failed])
    } finally {
      by.waits.delete(wait)
      this.#waiting--
      if (this.#waiting === 0) this.#stop()
    }
  }

  /** A process whose work is done ends at once. */
  #stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    this.#timer = undefined
    const done = new Set<Work>()
    for (const work of this.#underWay.values()) {
      for (let cycle = this.#cycleFrom(work, done); cycle !== undefined; cycle = this.#cycleFrom(work, done))
        failYoungest(cycle)
    }
  }

  /** The waits of a cycle that `start` leads to, one after another. What leads to none is added to `done`. */
  #cycleFrom(start: Work, done: Set<Work>): readonly Wait[] | undefined {
    /** The works from `start` to where the search is, each with its waits that are left to follow. */
    const path = new Map(done.has(start) ? [] : [[start, [...start.waits]]])
    const waits: Wait[] = []
    for (let at: Work | undefined = start; at !== undefined;) {
      const wait: Wait | undefined = path.get(at)?.pop()
      const next = wait === undefined || wait.isFailed ? undefined : this.#underWay.get(wait.name)
      if (wait === undefined) {
        done.add(at)
        path.delete(at)
        at = waits.pop()?.by
      } else if (next !== undefined && path.has(next)) {
        const all = [...waits, wait]
        return all.slice(all.findIndex(({ by }) => by === next))
      } else if (next !== undefined && !done.has(next)) {
        waits.push(wait)
        path.set(next, [...next.waits])
        at = next
      }
    }
    return undefined
  }
}

function failYoungest(cycle: readonly Wait[]): void {
  const youngest = cycle.reduce((a, b) => (a.number > b.number ? a : b))
  const first = cycle.indexOf(youngest)
  const steps = [...cycle.slice(first), ...cycle.slice(0, first + 1)].map(({ by }) => by.step)
  youngest.fail(steps)
}

const hooks = builtin('node:async_hooks')
let ofThisThread: Waits | undefined

function waitsHere(): Waits | undefined {
  if (hooks !== undefined) ofThisThread ??= new Waits(hooks.AsyncLocalStorage)
  return ofThisThread
}

/** Does work; what it asks for is waited for by it. */
export function during<T>(work: Work, run: () => Promise<T>): Promise<T> {
  return waitsHere()?.during(work, run) ?? run()
}

/** Waits for the work of that name. Rejects with TASK_CYCLE if that work waits for the requesting work. */
export function waitFor<T>(name: string, run: () => Promise<T>): Promise<T> {
  return waitsHere()?.wait(name, run) ?? run()
}

/** `namespace.getOrPut`: computes the value of a key once, while other calls for the same key wait for it. `place` distinguishes the cache from others of this process. */
export function onceIn(session: Session, place: string): Once {
  return async ({ name, fullVersion }, key, compute) => {
    // A string and its UTF-8 bytes are the same key.
    const same = readKey(session.pack, 0, writeKey(session.pack, key))
    const id = typeof same === 'string' ? same : same.toString()
    const { outcome } = await join(place, {
      name: jsonOf(['getOrPut', name, fullVersion, typeof same, id]),
      step: { task: name, id },
      work: async () => {
        try {
          return { kind: 'done', value: await compute() }
        } catch (error) {
          return { kind: 'failed', error }
        }
      },
    })
    if (outcome.kind === 'failed') throw outcome.error
    return outcome.value as Awaited<ReturnType<typeof compute>>
  }
}

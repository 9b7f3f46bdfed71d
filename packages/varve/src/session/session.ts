/**
 * What a cache and its namespaces share: the engine's store while it is open, the scratch memory, the calls under way, the warnings
 * and the damage that calls detect. Here an engine's error becomes a VarveError.
 */
import type { EngineControl, EngineStore } from '../engine/engine.ts'
import { type ErrorCode, toVarveError, VarveError } from '../errors.ts'
import { KEY_ROOM_BYTES } from '../values/bytes.ts'
import type { Place } from '../health/place.ts'
import { Tally } from '../history/tally.ts'
import type { Damage } from '../reports.ts'
import type { WatchOptions } from '../options.ts'
import { type Fields, FUNCTION, SIGNAL } from '../checks/options.ts'

/** Failures of reading that cost a miss and a warning, never the host's build. */
const MISSES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'IO',
  'PERMISSION',
  'DISK_FULL',
  'DAMAGED',
  'BUSY',
  'INTERNAL',
])

/** Answer of the engine's `get` for a miss; lower numbers also report damage. */
export const MISS = -1

/** Keys of getMany are packed until they exceed this, then cross to the engine. */
export const PACK_BYTES: number = 256 * 1024

/** How a call uses the directory. `'none'`: not at all, or the caller checked it. */
export type Use = 'none' | 'read' | 'write'

/** How a session reports problems. */
export interface SessionOptions {
  readonly version?: string | undefined
  /** Damage is an error, not a miss. */
  readonly strict?: boolean | undefined
  readonly onWarning?: ((warning: VarveError) => void) | undefined
  readonly onDamage?: ((damage: Damage) => void) | undefined
}

/** One open cache on one thread. */
export class Session {
  /** Scopes whose reads must be put before a commit begins. They end with the cache. */
  readonly scopes: Set<{ seal(): void; end(): void }> = new Set()
  /** What this cache did, for the history. */
  readonly tally: Tally = new Tally()
  /** Version of the cache, part of each namespace's. */
  readonly version: string
  #store: EngineStore | undefined
  #scratchOfEngine: Uint8Array | undefined
  #scratch: Uint8Array = new Uint8Array(0)
  #pack: Uint8Array | undefined
  readonly #underWay: Set<Promise<unknown>> = new Set()
  #closing: AbortController | undefined
  readonly #warned: Set<string> = new Set()
  readonly #options: SessionOptions
  readonly #damage: DamageWatch
  readonly #place: Place | undefined
  readonly #fetched: readonly string[]
  /** Layers among `fetched` in which damage was detected. */
  readonly damagedLayers: Set<string> = new Set()

  /** `place` is undefined for a cache in memory. `fetched` are the paths of layers that can be fetched again. */
  constructor(store: EngineStore, options: SessionOptions = {}, place?: Place, fetched: readonly string[] = []) {
    this.#store = store
    this.#place = place
    this.#fetched = fetched
    this.version = options.version ?? ''
    this.#options = options
    this.#damage = new DamageWatch(store, options.strict ?? false, (places) => this.#reportDamage(places))
  }

  /** Whether damage is an error, not a miss. */
  get isStrict(): boolean {
    return this.#options.strict ?? false
  }

  /** Throws DAMAGED if damage is an error and there is any. */
  checkSound(): void {
    if (this.isStrict) this.lookForDamage()
  }

  /** Call after a miss: reports new damage. Throws DAMAGED if damage is an error. `count`: what `damageCount()` returned. */
  lookForDamage(count?: number): undefined {
    if (this.#store !== undefined) this.#damage.look(count)
    return undefined
  }

  /** The store. Throws CLOSED after `close`. */
  get store(): EngineStore {
    return this.#store ?? throwClosed()
  }

  /** The directory of the cache; undefined for a cache in memory. */
  get directory(): string | undefined {
    return this.#place?.dir
  }

  /** Whether `close` was called. */
  get isClosed(): boolean {
    return this.#store === undefined
  }

  /** The signal of a call that waits for a stream of the caller: it also aborts at `close`, with CLOSED as its reason. */
  stopOf(signal: AbortSignal | undefined): AbortSignal {
    this.#closing ??= new AbortController()
    return signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal])
  }

  /** Throws CLOSED after `close`. */
  checkOpen(): void {
    if (this.#store === undefined) throwClosed()
  }

  /** The scratch memory of `store`; read it again after each call of the engine. */
  scratchOf(store: EngineStore): Uint8Array {
    const scratch = store.scratch
    if (scratch !== this.#scratchOfEngine) {
      this.#scratchOfEngine = scratch
      this.#scratch = new Uint8Array(scratch.buffer, scratch.byteOffset, scratch.length)
    }
    return this.#scratch
  }

  /** Memory for PACK_BYTES of keys and one more. */
  get pack(): Uint8Array {
    this.#pack ??= new Uint8Array(PACK_BYTES + KEY_ROOM_BYTES)
    return this.#pack
  }

  /** Runs a synchronous call of the engine. */
  call<T>(run: (store: EngineStore) => T): T {
    const store = this.store
    try {
      const answer = run(store)
      this.noteDamage()
      return answer
    } catch (error) {
      throw toVarveError(error)
    }
  }

  /** Puts everything that belongs to a commit which is about to begin. */
  seal(): void {
    for (const scope of this.scopes) scope.seal()
  }

  /** Throws PERMISSION if the directory is no longer trusted. */
  checkPlace(use: Use): void {
    const barred = use === 'none' ? undefined : this.#place?.check(use === 'write')
    if (barred !== undefined)
      throw new VarveError(barred.code, `the cache cannot be used: ${barred.why}; ${barred.fix}`)
  }

  /** Runs an asynchronous call of the engine, and reports damage that it detected; `close` waits for it. */
  run<T>(start: (store: EngineStore) => Promise<T>, use: Use = 'read'): Promise<T> {
    return this.track(async (store) => {
      this.checkPlace(use)
      const answer = await start(store)
      this.noteDamage()
      return answer
    })
  }

  /** Runs a call that checks the directory and reports damage itself; `close` waits for it. */
  async track<T>(start: (store: EngineStore) => Promise<T>): Promise<T> {
    const store = this.store
    let call: Promise<T> | undefined
    try {
      call = start(store)
      this.#underWay.add(call)
      return await call
    } catch (error) {
      throw toVarveError(error)
    } finally {
      if (call !== undefined) this.#underWay.delete(call)
    }
  }

  /** Makes every later call throw CLOSED, waits for those under way, runs `last`, closes the store. Failures are one warning. */
  async close(last?: (store: EngineStore) => Promise<void>): Promise<void> {
    const store = this.store
    this.#store = undefined
    this.#closing?.abort(closed())
    if (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
    try {
      await last?.(store)
    } catch (error) {
      this.warn(toVarveError(error), 'close')
    }
    try {
      this.#damage.reportRest(await store.close())
    } catch (error) {
      const { code, message } = toVarveError(error)
      const text = `close() could not sync or compact the cache; committed entries are kept: ${message}`
      this.warn(new VarveError(code, text, { cause: error }), 'close')
    }
    for (const scope of this.scopes) scope.end()
  }

  /** Handles a failed read: a miss and a warning if the cause is the cache on disk, otherwise throws the error. */
  miss(error: unknown): undefined {
    const failure = toVarveError(error)
    if (!MISSES.has(failure.code) || (this.isStrict && failure.code === 'DAMAGED')) throw failure
    this.warn(failure)
    return undefined
  }

  /** Reports a warning, only the first of its kind. Exceptions of the listener are ignored. */
  warn(warning: VarveError, kind: string = warning.code): void {
    if (this.#warned.has(kind)) return
    this.#warned.add(kind)
    attempt(this.#options.onWarning ?? emitWarning, warning)
  }

  /** Reports damage that a call detected without failing it. `count`: what `damageCount()` returned. */
  noteDamage(count?: number): void {
    if (!this.isStrict) this.lookForDamage(count)
  }

  #reportDamage(places: readonly Damage[]): void {
    const { onDamage, onWarning } = this.#options
    for (const { layer } of places)
      if (layer !== undefined && this.#fetched.includes(layer)) this.damagedLayers.add(layer)
    if (onDamage === undefined || onWarning !== undefined) this.warn(damageError(places, this.#fetched), 'damage')
    if (onDamage !== undefined) for (const place of places) attempt(onDamage, place)
  }
}

/** Calls a listener, whose exceptions must not fail a lookup, nor those of an asynchronous one the process. */
function attempt<T>(listener: (what: T) => unknown, what: T): void {
  try {
    Promise.resolve(listener(what)).catch(() => undefined)
  } catch {
    // See above.
  }
}

function throwClosed(): never {
  throw closed()
}

function closed(): VarveError {
  return new VarveError('CLOSED', 'the cache is closed; open it again to continue')
}

function emitWarning(warning: VarveError): void {
  const host = globalThis.process
  if (typeof host?.emitWarning === 'function')
    host.emitWarning(warning.message, { type: 'VarveWarning', code: warning.code })
}

/** Fields of WatchOptions for `checkOptions`. */
export const WATCH_FIELDS: Fields<WatchOptions> = { signal: SIGNAL, onProgress: FUNCTION }

/**
 * Runs `call` under the caller's watch. An aborted signal rejects with CANCELLED. An `onProgress` that throws never
 * throws into the engine: it stops the call, which then rejects with what was thrown, even if it was complete by then.
 * The call gets a signal of this host: that of the caller may be one of a browser that a test runner simulates.
 */
export async function watched<T>(
  { signal, onProgress }: WatchOptions,
  call: (control: EngineControl) => Promise<T>,
): Promise<T> {
  if (signal?.aborted === true)
    throw new VarveError('CANCELLED', 'stopped on request before it began', { cause: signal.reason })
  if (signal === undefined && onProgress === undefined) return call({ signal, onProgress })

  const stop = new AbortController()
  const end = (): void => stop.abort(signal?.reason)
  let failure: { readonly thrown: unknown } | undefined
  const watch = (done: number, total: number): void => {
    if (failure !== undefined) return
    try {
      onProgress?.(done, total)
    } catch (thrown) {
      failure = { thrown }
      stop.abort(thrown)
    }
  }
  signal?.addEventListener('abort', end, { once: true })
  try {
    const answer = await call({ signal: stop.signal, onProgress: onProgress === undefined ? undefined : watch })
    if (failure === undefined) return answer
  } catch (error) {
    if (failure === undefined) throw error
  } finally {
    signal?.removeEventListener('abort', end)
  }
  throw failure.thrown
}

// Reports damage, each place once, soon after the call that detected it and never during it, so that listeners may use the
// cache. Checking reads one number of the engine; its status is read only if that number changed.

/** Damage of one open cache. */
export class DamageWatch {
  readonly #store: EngineStore
  readonly #report: (places: readonly Damage[]) => void
  readonly #isStrict: boolean
  #known = 0
  #reported = 0

  constructor(store: EngineStore, isStrict: boolean, report: (places: readonly Damage[]) => void) {
    this.#store = store
    this.#isStrict = isStrict
    this.#report = report
  }

  /** Checks for new damage and reports it. With `strict` it throws DAMAGED if there ever was any. */
  look(count: number = this.#store.damageCount()): void {
    if (count === this.#known && !this.#isStrict) return
    if (count !== this.#known) {
      this.#known = count
      queueMicrotask(() => this.#reportNow())
    }
    const [place] = this.#isStrict && count > 0 ? this.#store.status().damage : []
    if (place !== undefined) throw damageError([place])
  }

  /** Reports the damage of `all` that was not reported yet. */
  reportRest(all: readonly Damage[]): void {
    const places = all.slice(this.#reported)
    this.#reported = all.length
    this.#known = Math.max(this.#known, all.length)
    if (places.length > 0) this.#report(places)
  }

  #reportNow(): void {
    if (this.#reported === this.#known) return
    try {
      this.reportRest(this.#store.status().damage)
    } catch {
      // The store was closed first: `close` reports the rest.
    }
  }
}

/** The warning for damaged places; with `strict`, the error. `fetched` are the paths of layers that can be fetched again. */
export function damageError(places: readonly Damage[], fetched: readonly string[] = []): VarveError {
  const [first] = places
  const where = first === undefined ? 'a file' : `${first.what} in '${first.file}' at byte ${first.offset}`
  const whose = first === undefined || first.namespace === null ? '' : `, of namespace '${first.namespace}'`
  const more = places.length > 1 ? ` and ${places.length - 1} more` : ''
  if (first?.layer !== undefined) {
    const isFetched = fetched.includes(first.layer)
    const fix = isFetched
      ? 'the next build fetches it again'
      : "seal it again, or remove it from option 'layers' and VARVE_LAYERS"
    const advice = `what it had there is a miss; ${fix}`
    const what = first.file === first.layer ? first.what : `${where}${whose}`
    return new VarveError('DAMAGED', `the layer '${first.layer}' is not used in full: ${what}${more}; ${advice}`)
  }
  const fix =
    "the entries there are misses and will be written again. 'npx varve repair --check' lists all damage, 'npx varve repair' quarantines it"
  return new VarveError('DAMAGED', `the cache is damaged: ${where}${whose}${more}: ${fix}`)
}

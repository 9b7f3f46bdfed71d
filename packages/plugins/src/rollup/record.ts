/**
 * What a hook does with its plugin context while its call is recorded. All calls are passed on to the tool's own context:
 *
 *   - calls that can be replayed are recorded
 *   - reads of what the key already covers are not
 *   - any other use, including members that tools may add in the future, makes the call uncacheable
 */
import { AsyncResource } from 'node:async_hooks'
import { Uncacheable } from '../build/shape.ts'
import { plainMap } from '../build/source-map.ts'
import { type Recorder, runOfTool, runRecorded } from './contexts.ts'
import { type ContextCall, type Entry, type LogMethod, plainLog, plainReturned } from './entry.ts'

export class Recording implements Recorder {
  readonly original: object
  readonly #methods: ReadonlyMap<PropertyKey, unknown>
  readonly #calls: ContextCall[] = []
  #reason: string | undefined
  #isOver = false

  constructor(original: object) {
    this.original = original
    this.#methods = new Map(Object.entries(this.#makeMethods()))
  }

  run<T>(work: (context: object) => T): Promise<Awaited<T>> {
    return runRecorded(this, work)
  }

  method(name: PropertyKey): unknown {
    return this.#methods.get(name)
  }

  refuse(reason: string): void {
    this.#reason ??= reason
  }

  /** The files that the hook asked the tool to watch. */
  get watched(): string[] {
    return this.#calls.flatMap((call) => (call.method === 'addWatchFile' ? [call.path] : []))
  }

  /** The entry of a call that returned `returned`. Throws Uncacheable if the call cannot be cached. */
  finish(returned: unknown): Entry {
    this.#isOver = true
    if (this.#reason !== undefined) throw new Uncacheable(this.#reason)
    return { returned: plainReturned(returned), calls: this.#calls }
  }

  /** Records a call, unless the hook has returned: work that the hook did not await is not part of its result. */
  #note(call: ContextCall): void {
    if (!this.#isOver) this.#calls.push(call)
  }

  #makeMethods(): Record<ContextCall['method'], (...args: never[]) => unknown> {
    const { original } = this
    const pass = (name: string, args: readonly unknown[]): unknown =>
      runOfTool(() => Reflect.apply(Reflect.get(original, name), original, args))
    const log =
      (method: LogMethod) =>
      (given: unknown, position?: unknown): unknown => {
        const call: { method: LogMethod; log?: unknown; position: unknown } = { method, position }
        this.#note(call)
        const note = (made: unknown): unknown => {
          call.log = copyOf(plainLog(made))
          return made
        }
        // A tool makes the message of a function at once, or never if its level is not logged.
        return pass(method, [
          typeof given === 'function' ? AsyncResource.bind(() => note(given())) : note(given),
          position,
        ])
      }
    return {
      addWatchFile: (path: string) => {
        this.#note({ method: 'addWatchFile', path })
        return pass('addWatchFile', [path])
      },
      emitFile: (file: object) => {
        const referenceId = String(pass('emitFile', [file]))
        if (isWithoutSource(file)) this.refuse('emits an asset without a source')
        this.#note({
          method: 'emitFile',
          file: 'map' in file ? { ...file, map: plainMap(file.map) } : { ...file },
          referenceId,
        })
        return referenceId
      },
      warn: log('warn'),
      info: log('info'),
      debug: log('debug'),
    }
  }
}

function isWithoutSource(file: object): boolean {
  return 'type' in file && file.type === 'asset' && (!('source' in file) || file.source === undefined)
}

/** A copy of a message, because tools modify the messages that they get. */
function copyOf(log: unknown): unknown {
  return typeof log === 'object' && log !== null ? { ...log } : log
}

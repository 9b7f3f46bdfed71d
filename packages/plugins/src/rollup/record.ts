/**
 * What a hook does with its plugin context: recorded while its call runs, and repeated by a hit. While it is recorded, all calls are passed on
 * to the tool's own context:
 *
 *   - calls that can be replayed are recorded
 *   - reads of what the key already covers are not
 *   - any other use, including members that tools may add in the future, makes the call uncacheable
 */
import { AsyncResource } from 'node:async_hooks'
import { Uncacheable } from '../build/pack.ts'
import { plainMap } from '../build/source-map.ts'
import { type Recorder, runOfTool, runRecorded } from './contexts.ts'
import { type ContextCall, type Entry, type LogMethod, plainLog, plainReturned } from './entry.ts'
import { mapLeaves } from '../build/root.ts'
import { textOf } from '../host/files.ts'
import { foldersFor, leadsToFiles } from '../build/modules.ts'
import type { CachedHook } from './hooks.ts'

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

// The replay repeats these calls, and decides whether tools can use the result without the plugin.

/** The methods of a plugin context that a replay calls. */
type Replayed = 'addWatchFile' | 'emitFile' | LogMethod

/** Whether a replay logs all that the tool logs now. The tool that stored the entry may not have logged messages of this level. */
export function isComplete({ calls }: Entry, context: object): boolean {
  const refuse = (): never => {
    throw new Error('this message was not made')
  }
  try {
    for (const one of calls)
      if (isMessage(one) && one.log === undefined) Reflect.apply(Reflect.get(context, one.method), context, [refuse])
    return true
  } catch {
    return false
  }
}

function isNone(value: unknown): boolean {
  return value === undefined || value === null
}

function isMessage(call: ContextCall): call is Extract<ContextCall, { method: LogMethod }> {
  return call.method !== 'addWatchFile' && call.method !== 'emitFile'
}

/**
 * Replays an entry on `context`; returns what the hook returned. Emitted files come first: if the tool rejects one, no other
 * call has been repeated.
 */
export function replay({ returned, calls }: Entry, context: object): unknown {
  const call = (name: Replayed, args: readonly unknown[]): unknown =>
    Reflect.apply(Reflect.get(context, name), context, args)
  const renamed = new Map<string, string>()
  for (const one of calls) {
    if (one.method !== 'emitFile') continue
    const referenceId = String(call('emitFile', [one.file]))
    if (referenceId !== one.referenceId) renamed.set(one.referenceId, referenceId)
  }
  for (const one of calls) {
    if (one.method === 'addWatchFile') call(one.method, [one.path])
    else if (isMessage(one) && one.log !== undefined)
      call(one.method, [one.log, ...(isNone(one.position) ? [] : [one.position])])
  }
  return renamed.size === 0 ? returned : withReferences(returned, renamed)
}

/** Replaces the references to emitted files in code, which may differ between builds. All references have one length. */
function withReferences(returned: unknown, renamed: ReadonlyMap<string, string>): unknown {
  const [{ length } = ''] = renamed.keys()
  return mapLeaves(returned, '', (leaf) => {
    if (typeof leaf !== 'string') return leaf
    return leaf.replace(/[\w$-]+/g, (word) => (word.length < length ? word : renameIn(word, length, renamed)))
  })
}

function renameIn(word: string, length: number, renamed: ReadonlyMap<string, string>): string {
  let changed = ''
  let written = 0
  for (let at = 0; at + length <= word.length; at++) {
    const name = renamed.get(word.slice(at, at + length))
    if (name === undefined) continue
    changed += word.slice(written, at) + name
    written = at + length
    at = written - 1
  }
  return changed + word.slice(written)
}

interface HookResult {
  readonly hook: CachedHook
  readonly entry: Entry
  /** The code that the hook was called with. */
  readonly code: unknown
  readonly file: string | undefined
  readonly root: string
}

/** Whether a result leads to nothing that only the plugin can load. */
export function isSelfContained({ hook, entry: { returned, calls }, code, file, root }: HookResult): boolean {
  const chunks = calls.flatMap((call) =>
    call.method === 'emitFile' && 'id' in call.file ? [String(call.file.id)] : [],
  )
  const resolved = hook === 'resolveId' ? idsIn(returned) : []
  const made = hook === 'resolveId' ? '' : codeIn(returned)
  const source = typeof code === 'string' ? code : sourceOf(file)
  return leadsToFiles({ code: made, source, emitted: [...chunks, ...resolved] }, foldersFor(file, root))
}

function codeIn(returned: unknown): string {
  if (typeof returned === 'string') return returned
  const { code }: { code?: unknown } = Object(returned)
  return typeof code === 'string' ? code : ''
}

/** The id that `resolveId` returned, unless it is external. */
function idsIn(returned: unknown): string[] {
  if (typeof returned === 'string') return [returned]
  const { id, external = false }: { id?: unknown; external?: unknown } = Object(returned)
  return typeof id === 'string' && external === false ? [id] : []
}

function sourceOf(file: string | undefined): string {
  return (file === undefined ? undefined : textOf(file)) ?? ''
}

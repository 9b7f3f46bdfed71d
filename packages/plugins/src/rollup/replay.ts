/** Repeats the calls of a hook to its plugin context, and decides whether tools can use the result without the plugin. */
import { mapLeaves } from '../build/root.ts'
import type { ContextCall, Entry, LogMethod } from './entry.ts'
import { textOf } from '../build/files.ts'
import { foldersFor, leadsToFiles } from '../build/leads.ts'
import type { CachedHook } from './hooks.ts'

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

/** Whether tools can load without the plugin what a result of a hook leads to. */
import { textOf } from '../build/files.ts'
import { foldersFor, leadsToFiles } from '../build/leads.ts'
import type { Entry } from './entry.ts'
import type { CachedHook } from './hooks.ts'

/** The result of one call. */
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

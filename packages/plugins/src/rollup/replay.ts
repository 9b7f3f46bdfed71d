/** Tells a plugin context again what a hook told it when it ran, and gives back what the hook returned. */
import { mapLeaves } from '../build/root.ts'
import type { Entry } from './entry.ts'

/** Repeats a call on `context`; returns what the hook returned. */
export function replay({ returned, told }: Entry, context: object): unknown {
  const call = (name: string, args: readonly unknown[]): unknown => Reflect.apply(Reflect.get(context, name), context, args)
  const renamed = new Map<string, string>()
  for (const one of told) {
    if (one.method === 'addWatchFile') call(one.method, [one.path])
    else if (one.method === 'emitFile') {
      const referenceId = String(call(one.method, [one.file]))
      if (referenceId !== one.referenceId) renamed.set(one.referenceId, referenceId)
    } else call(one.method, one.position === undefined ? [one.log] : [one.log, one.position])
  }
  return renamed.size === 0 ? returned : withReferences(returned, renamed)
}

/** Code names emitted files by reference; another build may have given another one. */
function withReferences(returned: unknown, renamed: ReadonlyMap<string, string>): unknown {
  const pattern = new RegExp([...renamed.keys()].map((id) => id.replaceAll('$', '\\$')).join('|'), 'g')
  const rename = (text: string): string => text.replace(pattern, (id) => renamed.get(id) ?? id)
  return mapLeaves(returned, '', (leaf) => (typeof leaf === 'string' ? rename(leaf) : leaf))
}

/**
 * The entry of one call of a hook: its return value and its calls to the plugin context, in order. The shapes define what may
 * be replayed: all tools of Rollup's family accept it.
 */
import { isAbsolute } from 'node:path'
import {
  either,
  exactly,
  isBytes,
  isDictionary,
  isFlag,
  isIndex,
  isPath,
  isText,
  listOf,
  nullable,
  objectOf,
  optional,
  type Shape,
  Uncacheable,
  withCheck,
} from '../build/pack.ts'
import { plainMap, sourceMap } from '../build/source-map.ts'
import type { CachedHook } from './hooks.ts'

/** One call to a method of the plugin context. */
export type ContextCall =
  | { readonly method: 'addWatchFile'; readonly path: string }
  | { readonly method: 'emitFile'; readonly file: object; readonly referenceId: string }
  /** `log` is undefined if the tool did not ask for the message, because its level was not logged. */
  | { readonly method: LogMethod; readonly log?: unknown; readonly position?: unknown }

/** The methods that log a message. */
export type LogMethod = 'warn' | 'info' | 'debug'

/** One call of a hook, as plain data. */
export interface Entry {
  readonly returned: unknown
  readonly calls: readonly ContextCall[]
}

/** A reference to an emitted file. Code contains references, which a replay replaces; all references of an entry have one length. */
const reference: Shape<string> = (value): value is string => isText(value) && /^[\w$-]{4,64}$/.test(value)

/** A name below the output directory. */
const fileName: Shape<string> = (value): value is string =>
  isPath(value) && !/^(?:\/|\.[/.])/.test(value) && !isAbsolute(value)

const emitted: Shape<object> = either(
  objectOf({
    type: exactly('asset'),
    name: optional(fileName),
    fileName: optional(fileName),
    needsCodeReference: optional(isFlag),
    originalFileName: nullable(isText),
    source: either(isText, isBytes),
  }),
  objectOf({
    type: exactly('chunk'),
    id: isPath,
    name: optional(fileName),
    fileName: optional(fileName),
    importer: optional(isPath),
    implicitlyLoadedAfterOneOf: optional(listOf(isPath)),
    preserveSignature: optional(exactly(false, 'strict', 'allow-extension', 'exports-only')),
  }),
  objectOf({
    type: exactly('prebuilt-chunk'),
    fileName,
    code: isText,
    exports: optional(listOf(isText)),
    map: nullable(sourceMap),
    sourcemapFileName: optional(fileName),
  }),
)

const message = withCheck(isDictionary, (log) => isText(log['message']))
const position = either(isIndex, objectOf({ line: withCheck(isIndex, (line) => line > 0), column: isIndex }))

const call: Shape<ContextCall> = either(
  objectOf({ method: exactly('addWatchFile'), path: isPath }),
  objectOf({ method: exactly('emitFile'), file: emitted, referenceId: reference }),
  objectOf({
    method: exactly('warn', 'info', 'debug'),
    log: optional(either(isText, message)),
    position: nullable(position),
  }),
)

const calls: Shape<readonly ContextCall[]> = withCheck(listOf(call), (list) => {
  const references = list.flatMap((one) => (one.method === 'emitFile' ? [one.referenceId] : []))
  return new Set(references.map(({ length }) => length)).size <= 1
})

/** The properties of a module that a hook may return; `ast` cannot be stored. */
const module = {
  meta: nullable(isDictionary),
  moduleSideEffects: nullable(either(isFlag, exactly('no-treeshake'))),
  syntheticNamedExports: nullable(either(isFlag, isText)),
  moduleType: optional(isText),
  attributes: nullable(withCheck(isDictionary, (attributes) => Object.values(attributes).every(isText))),
}
const code = { ...module, map: nullable(sourceMap) }
const resolved = {
  ...module,
  external: optional(either(isFlag, exactly('absolute', 'relative'))),
  resolvedBy: optional(isText),
  packageJsonPath: optional(isText),
}
const RETURNED: readonly string[] = ['code', 'id', ...Object.keys({ ...code, ...resolved })]

const returned: { readonly [Hook in CachedHook]: Shape<unknown> } = {
  transform: either(exactly(null), isText, objectOf({ ...code, code: nullable(isText) })),
  load: either(isText, objectOf({ ...code, code: isText })),
  resolveId: either(isText, exactly(false), objectOf({ ...resolved, id: isPath })),
}

/** The shapes of entries, by hook. */
export const ENTRIES: { readonly [Hook in CachedHook]: Shape<Entry> } = {
  transform: objectOf<Entry>({ returned: returned.transform, calls }),
  load: objectOf<Entry>({ returned: returned.load, calls }),
  resolveId: objectOf<Entry>({ returned: returned.resolveId, calls }),
}

/** The return value of a hook as plain data. Throws Uncacheable if that would lose a property. */
export function plainReturned(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null
  if (Array.isArray(value)) throw new Uncacheable('returns something unknown')
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined && !RETURNED.includes(name)) throw new Uncacheable(`returns '${name}'`)
  }
  const { map, ...rest }: { map?: unknown } = value
  return { ...rest, ...(map !== undefined && { map: plainMap(map) }) }
}

/** A log message as plain data: a text, or an object that may be an Error. */
export function plainLog(log: unknown): unknown {
  if (!(log instanceof Error)) return log
  return { ...log, name: log.name, message: log.message, stack: log.stack }
}

/**
 * What is kept of one call of a hook: what it returned, and what it told its context on the way, in order. The shapes say
 * what may be replayed: every tool of Rollup's family takes it without a complaint.
 */
import { isAbsolute } from 'node:path'
import {
  isBytes,
  isDictionary,
  either,
  exactly,
  isFlag,
  isIndex,
  listOf,
  nullable,
  objectOf,
  optional,
  isPath,
  type Shape,
  isText,
  withCheck,
} from '../build/shape.ts'
import { MAP_FIELDS, sourceMap } from '../build/source-map.ts'
import { Uncacheable } from '../build/uncacheable.ts'
import type { CachedHook } from './hooks.ts'

/** One call of a method of the plugin context. */
export type Told =
  | { readonly method: 'addWatchFile'; readonly path: string }
  | { readonly method: 'emitFile'; readonly file: object; readonly referenceId: string }
  | { readonly method: LogMethod; readonly log: unknown; readonly position?: unknown }

/** The methods that say something to people. */
export type LogMethod = 'warn' | 'info' | 'debug'

/** One call, as plain data. */
export interface Entry {
  readonly returned: unknown
  readonly told: readonly Told[]
}

/** Code names emitted files by these, so they are replaced in it: a text of letters, all of one length in an entry. */
const reference: Shape<string> = (value): value is string => isText(value) && /^[\w$-]{4,64}$/.test(value)

/** A name below the output folder. */
const fileName: Shape<string> = (value): value is string => isPath(value) && !/^(?:\/|\.[/.])/.test(value) && !isAbsolute(value)

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

const told: Shape<Told> = either(
  objectOf({ method: exactly('addWatchFile'), path: isPath }),
  objectOf({ method: exactly('emitFile'), file: emitted, referenceId: reference }),
  objectOf({ method: exactly('warn', 'info', 'debug'), log: either(isText, message), position: nullable(position) }),
)

const toldList: Shape<readonly Told[]> = withCheck(listOf(told), (list) => {
  const references = list.flatMap((one) => (one.method === 'emitFile' ? [one.referenceId] : []))
  return new Set(references.map(({ length }) => length)).size <= 1
})

/** What a hook may say about a module; `ast` cannot be kept. */
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

/** The entries of each hook. */
export const ENTRIES: { readonly [Hook in CachedHook]: Shape<Entry> } = {
  transform: objectOf<Entry>({ returned: returned.transform, told: toldList }),
  load: objectOf<Entry>({ returned: returned.load, told: toldList }),
  resolveId: objectOf<Entry>({ returned: returned.resolveId, told: toldList }),
}

/** What a hook returned as plain data. Throws Uncacheable where that would lose something. */
export function plainReturned(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null
  if (Array.isArray(value)) throw new Uncacheable('returns something unknown')
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined && !RETURNED.includes(name)) throw new Uncacheable(`returns '${name}'`)
  }
  const { map, ...rest }: { map?: unknown } = value
  return { ...rest, ...(map !== undefined && { map: plainMap(map) }) }
}

/** A source map as plain data: plugins return texts, objects and instances of classes. */
export function plainMap(map: unknown): unknown {
  if (typeof map !== 'object' || map === null) return map
  const fields = MAP_FIELDS.map((name) => [name, Reflect.get(map, name)] as const)
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined))
}

/** A message as plain data: a text, or an object that may be an Error. */
export function plainLog(log: unknown): unknown {
  if (!(log instanceof Error)) return log
  return { ...log, name: log.name, message: log.message, stack: log.stack }
}

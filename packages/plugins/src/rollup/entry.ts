/** What is kept of one call of a hook: what it returned, and what it told its context on the way, in order. */
import { Uncacheable } from '../build/uncacheable.ts'

/** One call of a method of the plugin context. */
export type Told =
  | { readonly method: 'addWatchFile'; readonly path: string }
  | { readonly method: 'emitFile'; readonly file: object; readonly referenceId: string }
  | { readonly method: LogMethod; readonly log: unknown; readonly position: unknown }

/** The methods that say something to people. */
export type LogMethod = 'warn' | 'info' | 'debug'

/** One call, as plain data. */
export interface Entry {
  readonly returned: unknown
  readonly told: readonly Told[]
}

/** What a hook may return, besides texts and nothing; `ast` cannot be kept. */
const FIELDS = [
  'code',
  'map',
  'meta',
  'moduleSideEffects',
  'syntheticNamedExports',
  'moduleType',
  'attributes',
  'id',
  'external',
  'resolvedBy',
  'packageJsonPath',
]
const MAP_FIELDS = ['version', 'file', 'sourceRoot', 'sources', 'sourcesContent', 'names', 'mappings', 'x_google_ignoreList', 'ignoreList', 'debugId']

/** What a hook returned as plain data. Throws Uncacheable where that would lose something. */
export function plainReturned(value: unknown): unknown {
  if (value === undefined || value === null || value === false || typeof value === 'string') return value ?? null
  if (typeof value !== 'object' || Array.isArray(value)) throw new Uncacheable('returns something unknown')
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined && !FIELDS.includes(name)) throw new Uncacheable(`returns '${name}'`)
  }
  const { code, map, ...rest }: { code?: unknown; map?: unknown } = value
  if (code !== undefined && code !== null && typeof code !== 'string') throw new Uncacheable('returns code that is no text')
  return { ...rest, code, map: plainMap(map) }
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

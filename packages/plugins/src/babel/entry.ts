/** What is stored of a transformation: the plain part of Babel's result. */
import {
  either,
  exactly,
  isAbsolutePath,
  isDictionary,
  isText,
  listOf,
  objectOf,
  optional,
  type Shape,
  Uncacheable,
} from '../build/pack.ts'
import { plainMap, type SourceMap, sourceMap } from '../build/source-map.ts'

/** What `transformAsync` of Babel resolves with, as far as it is stored. */
export interface BabelResult {
  readonly code?: string | null | undefined
  readonly map?: object | null | undefined
  readonly metadata?: object | undefined
  readonly sourceType?: string | undefined
  readonly externalDependencies?: Iterable<string> | undefined
  readonly ast?: object | null | undefined
}

/** A result, from the cache or from Babel. It has no `options`, which cannot be stored. */
export interface Transformed {
  /** Null with option `code: false`. */
  readonly code: string | null
  /** Null without option `sourceMaps`. */
  readonly map: SourceMap | null
  /** What plugins noted. */
  readonly metadata: Readonly<Record<string, unknown>>
  readonly sourceType?: 'script' | 'module' | 'commonjs' | undefined
  /** Absolute paths of the files that plugins named as dependencies, for tools that watch. */
  readonly externalDependencies: ReadonlySet<string>
  /** Only with option `ast`. Such a result is not stored. */
  readonly ast?: object | undefined
}

/** A stored result; null if Babel ignores the file. */
export interface Entry {
  readonly result: (Omit<Transformed, 'externalDependencies' | 'ast'> & { readonly files: readonly string[] }) | null
}

const isNull = exactly(null)
const isSourceType = exactly('script', 'module', 'commonjs')
const isMap: Shape<SourceMap> = (value): value is SourceMap => typeof value === 'object' && sourceMap(value)

/** A map as plain data; null for one that no tool accepts. */
function mapOf(map: unknown): SourceMap | null {
  const plain = plainMap(map)
  return isMap(plain) ? plain : null
}

/** The shape of an entry. */
export const entryShape: Shape<Entry> = objectOf<Entry>({
  result: either(
    isNull,
    objectOf<NonNullable<Entry['result']>>({
      code: either(isText, isNull),
      map: either(isMap, isNull),
      metadata: isDictionary,
      sourceType: optional(isSourceType),
      files: listOf(isAbsolutePath),
    }),
  ),
})

/** What to store of a result, and the files that it depends on. Throws Uncacheable if it has a syntax tree. */
export function keptOf(result: Transformed | null): { readonly entry: unknown; readonly watched: readonly string[] } {
  if (result === null) return { entry: { result }, watched: [] }
  const { ast, externalDependencies, ...rest } = result
  if (ast !== undefined) throw new Uncacheable('returns a syntax tree')
  const files = [...externalDependencies]
  return { entry: { result: { ...rest, files } }, watched: files }
}

/** The result in an entry. */
export function resultOf({ result }: Entry): Transformed | null {
  if (result === null) return null
  const { files, ...rest } = result
  return { ...rest, externalDependencies: new Set(files) }
}

/** What Babel returned, in the form of a result. */
export function transformed(result: BabelResult | null): Transformed | null {
  if (result === null) return null
  const { code = null, map, metadata = {}, sourceType, externalDependencies = [], ast } = result
  const rest = {
    code,
    map: mapOf(map),
    metadata: { ...metadata },
    sourceType: isSourceType(sourceType) ? sourceType : undefined,
  }
  return {
    ...rest,
    externalDependencies: new Set(externalDependencies),
    ...(ast === null || ast === undefined ? {} : { ast }),
  }
}

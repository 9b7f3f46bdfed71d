/**
 * Source maps as plain data. A tool fails the build if a map is not well-formed, so a map from a cache is checked completely
 * before the tool gets it.
 */
import { parseJson } from 'varve/internal'
import { either, exactly, isIndex, listOf, objectOf, nullable, type Shape, isText, withCheck } from './pack.ts'

/** Fields of a source map, revision 3. */
export interface SourceMap {
  readonly version?: unknown
  readonly file?: string | null | undefined
  readonly sourceRoot?: string | null | undefined
  readonly sources?: readonly (string | null)[] | null | undefined
  readonly sourcesContent?: readonly (string | null | undefined)[] | null | undefined
  readonly names?: readonly string[] | null | undefined
  readonly mappings: string | readonly (readonly (readonly number[])[])[]
  readonly x_google_ignoreList?: readonly number[] | null | undefined
  readonly ignoreList?: readonly number[] | null | undefined
  readonly debugId?: string | null | undefined
}

const indexes = nullable(listOf(isIndex))
const isNumber: Shape<number> = (value): value is number => Number.isInteger(value)

const fields = {
  version: nullable(either(isNumber, isText)),
  file: nullable(isText),
  sourceRoot: nullable(isText),
  sources: nullable(listOf(either(isText, exactly(null)))),
  sourcesContent: nullable(listOf(nullable(isText))),
  names: nullable(listOf(isText)),
  mappings: either(isText, listOf(listOf(listOf(isNumber)))),
  x_google_ignoreList: indexes,
  ignoreList: indexes,
  debugId: nullable(isText),
} satisfies { [Name in keyof SourceMap]-?: Shape<SourceMap[Name]> }

/** A source map as plain data: plugins and loaders return texts, objects and instances of classes. */
export function plainMap(map: unknown): unknown {
  if (typeof map !== 'object' || map === null) return map
  const found = Object.keys(fields).map((name) => [name, Reflect.get(map, name)] as const)
  return Object.fromEntries(found.filter(([, field]) => field !== undefined))
}

/** Whether a map has positions on a line of the code, counted from 0. A map that is not known counts as if it had. */
export function hasPositions(map: unknown, line: number): boolean {
  if (map === undefined || map === null) return false
  const mappings: unknown = typeof map === 'object' ? Reflect.get(map, 'mappings') : undefined
  if (typeof mappings === 'string') return (mappings.split(';')[line] ?? '') !== ''
  return !Array.isArray(mappings) || !isEmpty(mappings[line] ?? [])
}

const isEmpty = (list: unknown): boolean => Array.isArray(list) && list.length === 0

/** A map whose positions all refer to existing sources and names. */
const mapObject: Shape<SourceMap> = withCheck(objectOf<SourceMap>(fields), (map) => {
  const counts = { sources: map.sources?.length ?? 0, names: map.names?.length ?? 0 }
  const ignored = [...(map.ignoreList ?? []), ...(map.x_google_ignoreList ?? [])]
  if (ignored.some((source) => source >= counts.sources)) return false
  // Maps without sources may have positions nevertheless, which refer to nothing.
  if (counts.sources === 0) counts.sources = Number.POSITIVE_INFINITY
  return typeof map.mappings === 'string' ? areMappings(map.mappings, counts) : areSegments(map.mappings, counts)
})

/** A map as JSON. */
const mapText: Shape<string> = (value): value is string => {
  if (!isText(value)) return false
  try {
    return value === '' || mapObject(parseJson(value))
  } catch {
    return false
  }
}

/** A map as plugins and loaders return it. */
export const sourceMap: Shape<SourceMap | string> = either(mapObject, mapText)

interface Counts {
  sources: number
  names: number
}

function areSegments(lines: readonly (readonly (readonly number[])[])[], { sources, names }: Counts): boolean {
  return lines.every((line) =>
    line.every(([column = -1, source = 0, row = 0, place = 0, name = 0, ...more]) => {
      return (
        more.length === 0 &&
        column >= 0 &&
        isBelow(source, sources) &&
        row >= 0 &&
        place >= 0 &&
        isBelow(name, Math.max(names, 1))
      )
    }),
  )
}

const isBelow = (value: number, count: number): boolean => value >= 0 && value < count

/** Values of the base64 digits; 64 for all other characters. */
const DIGITS = new Uint8Array(128).fill(64)
for (const [value, letter] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries())
  DIGITS[letter.charCodeAt(0)] = value
const COMMA = 44
const SEMICOLON = 59

/** Limits of a number in `mappings`: 30 bits, of which one is the sign. */
const SHIFT_MAX = 25
const POSITION_MAX = 2 ** 30

/** Checks `mappings`: each segment has 1, 4 or 5 base64 numbers, each relative to the previous one. A hot loop. */
function areMappings(mappings: string, { sources, names }: Counts): boolean {
  let column = 0
  let source = 0
  let row = 0
  let place = 0
  let name = 0
  let field = 0
  let value = 0
  let shift = 0
  for (let at = 0; at < mappings.length; at++) {
    const code = mappings.charCodeAt(at)
    if (code === COMMA || code === SEMICOLON) {
      if (shift !== 0 || field === 2 || field === 3) return false
      field = 0
      if (code === SEMICOLON) column = 0
      continue
    }
    const digit = DIGITS[code] ?? 64
    if (digit === 64 || shift > SHIFT_MAX) return false
    value |= (digit & 31) << shift
    shift += 5
    if (digit >= 32) continue
    const step = (value & 1) === 1 ? -(value >>> 1) : value >>> 1
    if (field === 0) column += step
    else if (field === 1) source += step
    else if (field === 2) row += step
    else if (field === 3) place += step
    else if (field === 4) name += step
    else return false
    if (column < 0 || source < 0 || row < 0 || place < 0 || name < 0) return false
    if (source >= sources || column > POSITION_MAX || row > POSITION_MAX || place > POSITION_MAX) return false
    if (field === 4 && name >= names) return false
    field += 1
    value = shift = 0
  }
  return shift === 0 && field !== 2 && field !== 3
}

/** The entry of an `onLoad` callback. esbuild fails the build for a result of any other shape. */
import type { Loader, Location, OnLoadResult, PartialMessage, PartialNote } from 'esbuild'
import {
  isAbsolutePath,
  isAnything,
  isBytes,
  either,
  exactly,
  isIndex,
  listOf,
  nullable,
  objectOf,
  optional,
  type Shape,
  isText,
} from '../build/shape.ts'

const loader: Shape<Loader> = exactly(
  ...([
    'base64',
    'binary',
    'copy',
    'css',
    'dataurl',
    'default',
    'empty',
    'file',
    'js',
    'json',
    'jsx',
    'local-css',
    'text',
    'ts',
    'tsx',
  ] as const),
)

const location = objectOf<Partial<Location>>({
  file: optional(isText),
  namespace: optional(isText),
  line: optional(isIndex),
  column: optional(isIndex),
  length: optional(isIndex),
  lineText: optional(isText),
  suggestion: optional(isText),
})

const note = objectOf<PartialNote>({ text: optional(isText), location: nullable(location) })

const warning = objectOf<PartialMessage>({
  id: optional(isText),
  pluginName: optional(isText),
  text: optional(isText),
  location: nullable(location),
  notes: optional(listOf(note)),
  detail: isAnything,
})

/** The stored part of a result. */
export type Entry = Pick<
  OnLoadResult,
  'pluginName' | 'warnings' | 'resolveDir' | 'loader' | 'watchFiles' | 'watchDirs'
> & {
  readonly contents: string | Uint8Array
}

/** The shape of an entry. A result without contents is not stored: esbuild asks the next plugin, which is cheap to repeat. */
export const entryShape: Shape<Entry> = objectOf<Entry>({
  pluginName: optional(isText),
  warnings: optional(listOf(warning)),
  contents: either(isText, isBytes),
  resolveDir: optional(isAbsolutePath),
  loader: optional(loader),
  watchFiles: optional(listOf(isAbsolutePath)),
  watchDirs: optional(listOf(isAbsolutePath)),
})

/** What is kept of an `onLoad` callback: esbuild fails a build for a result of any other shape. */
import type { Loader, Location, OnLoadResult, PartialMessage, PartialNote } from 'esbuild'
import { absolutePath, anything, bytes, either, exactly, index, listOf, nullable, objectOf, optional, type Shape, text } from '../build/shape.ts'

const loader: Shape<Loader> = exactly(
  ...(['base64', 'binary', 'copy', 'css', 'dataurl', 'default', 'empty', 'file', 'js', 'json', 'jsx', 'local-css', 'text', 'ts', 'tsx'] as const),
)

const location = objectOf<Partial<Location>>({
  file: optional(text),
  namespace: optional(text),
  line: optional(index),
  column: optional(index),
  length: optional(index),
  lineText: optional(text),
  suggestion: optional(text),
})

const note = objectOf<PartialNote>({ text: optional(text), location: nullable(location) })

const warning = objectOf<PartialMessage>({
  id: optional(text),
  pluginName: optional(text),
  text: optional(text),
  location: nullable(location),
  notes: optional(listOf(note)),
  detail: anything,
})

/** What is kept of a result. */
export type Entry = Pick<OnLoadResult, 'pluginName' | 'warnings' | 'resolveDir' | 'loader' | 'watchFiles' | 'watchDirs'> & {
  readonly contents: string | Uint8Array
}

/** The entry of a callback. Without contents esbuild asks the next plugin, which is cheaper to do again. */
export const entryShape: Shape<Entry> = objectOf<Entry>({
  pluginName: optional(text),
  warnings: optional(listOf(warning)),
  contents: either(text, bytes),
  resolveDir: optional(absolutePath),
  loader: optional(loader),
  watchFiles: optional(listOf(absolutePath)),
  watchDirs: optional(listOf(absolutePath)),
})

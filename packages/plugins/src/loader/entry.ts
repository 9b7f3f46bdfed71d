/** What is kept of a chain of loaders: webpack and Rspack fail a build, or a later loader does, for anything else. */
import {
  absolutePath,
  bytes,
  dictionary,
  either,
  exactly,
  index,
  listOf,
  nullable,
  objectOf,
  optional,
  path,
  type Shape,
  text,
  tupleOf,
  withCheck,
} from '../build/shape.ts'
import { sourceMap } from '../build/source-map.ts'
import type { Result } from './context.ts'
import type { Dependencies } from './dependencies.ts'
import type { Told } from './record.ts'

/** What is kept of a chain. */
export interface Entry extends Result {
  readonly dependencies: Dependencies
  readonly told: readonly Told[]
}

const paths = listOf(absolutePath)
const dependencies = objectOf<Dependencies>({ files: paths, folders: paths, missing: paths })

/** A syntax tree, which webpack would take without a look, is none of the things that can be kept. */
const meta = withCheck(dictionary, (fields) => !Object.hasOwn(fields, 'webpackAST'))

/** What the loaders told; a warning names one of `loaders` loaders. */
const toldBy = (loaders: number): Shape<Told> =>
  either(
    objectOf({
      method: exactly('emitFile'),
      args: tupleOf<[string, string | Uint8Array, unknown, unknown]>(path, either(text, bytes), nullable(sourceMap), nullable(dictionary)),
    }),
    objectOf({
      method: exactly('emitWarning'),
      loaderIndex: withCheck(index, (at) => at < loaders),
      message: text,
      name: text,
      stack: optional(text),
    }),
    objectOf({ method: exactly('addBuildDependency'), path: absolutePath }),
  )

/** The entry of a chain of so many loaders. */
export function entryShape(loaders: number): Shape<Entry> {
  return objectOf<Entry>({
    content: bytes,
    map: nullable(sourceMap),
    meta: nullable(meta),
    dependencies,
    told: listOf(toldBy(loaders)),
  })
}

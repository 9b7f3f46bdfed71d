/** What is kept of a chain of loaders: webpack and Rspack fail a build, or a later loader does, for anything else. */
import {
  isAbsolutePath,
  isBytes,
  isDictionary,
  either,
  exactly,
  isIndex,
  listOf,
  nullable,
  objectOf,
  optional,
  isPath,
  type Shape,
  isText,
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

const paths = listOf(isAbsolutePath)
const dependencies = objectOf<Dependencies>({ files: paths, folders: paths, missing: paths })

/** A syntax tree, which webpack would take without a look, is none of the things that can be kept. */
const meta = withCheck(isDictionary, (fields) => !Object.hasOwn(fields, 'webpackAST'))

/** What the loaders told; a warning names one of `loaders` loaders. */
const toldBy = (loaders: number): Shape<Told> =>
  either(
    objectOf({
      method: exactly('emitFile'),
      args: tupleOf<[string, string | Uint8Array, unknown, unknown]>(isPath, either(isText, isBytes), nullable(sourceMap), nullable(isDictionary)),
    }),
    objectOf({
      method: exactly('emitWarning'),
      loaderIndex: withCheck(isIndex, (at) => at < loaders),
      message: isText,
      name: isText,
      stack: optional(isText),
    }),
    objectOf({ method: exactly('addBuildDependency'), path: isAbsolutePath }),
  )

/** The entry of a chain of so many loaders. */
export function entryShape(loaders: number): Shape<Entry> {
  return objectOf<Entry>({
    content: isBytes,
    map: nullable(sourceMap),
    meta: nullable(meta),
    dependencies,
    told: listOf(toldBy(loaders)),
  })
}

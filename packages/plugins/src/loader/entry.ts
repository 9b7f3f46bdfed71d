/** The entry of a chain of loaders. With any other value, webpack, Rspack or a later loader would fail the build. */
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
import type { ContextCall } from './record.ts'

/** The stored result of a chain. */
export interface Entry extends Result {
  readonly dependencies: Dependencies
  readonly calls: readonly ContextCall[]
}

const paths = listOf(isAbsolutePath)
const dependencies = objectOf<Dependencies>({ files: paths, folders: paths, missing: paths })

/** No syntax tree, which webpack would use unchecked. */
const meta = withCheck(isDictionary, (fields) => !Object.hasOwn(fields, 'webpackAST'))

/** A call by one of `loaders` loaders. A warning has the index of its loader. */
const callOf = (loaders: number): Shape<ContextCall> =>
  either(
    objectOf({
      method: exactly('emitFile'),
      args: tupleOf<[string, string | Uint8Array, unknown, unknown]>(
        isPath,
        either(isText, isBytes),
        nullable(sourceMap),
        nullable(isDictionary),
      ),
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

/** The shape of the entry of a chain with this many loaders. */
export function entryShape(loaders: number): Shape<Entry> {
  return objectOf<Entry>({
    content: isBytes,
    map: nullable(sourceMap),
    meta: nullable(meta),
    dependencies,
    calls: listOf(callOf(loaders)),
  })
}

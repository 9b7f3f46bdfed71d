/**
 * Caches the results of any Jest transformer across processes, workers and machines.
 *
 * @example
 * // jest.config.js
 * export default {
 *   transform: { '\\.[jt]sx?$': ['@varve/plugins/jest', { transformer: 'babel-jest' }] },
 * }
 */
import { DECLARED_FIELDS, type DeclaredInputs } from './adapters/inputs.ts'
import { LazyNamespace, type OpenNamespace, ADAPTER_FIELDS, type AdapterOptions } from './adapters/namespace.ts'
import { hasFields, isText, nullable, type Shape } from './build/pack.ts'
import { sourceMap } from './build/source-map.ts'
import { ANYTHING, type Fields, TEXT } from 'varve/internal'
import { checkOptions } from './build/options.ts'
import {
  demandsOf,
  JestDirectory,
  KeyMaker,
  type WrappedTransformer,
  loadTransformer,
  type TransformedSource,
  type Transformer,
  type TransformOptions,
} from './jest/transformer.ts'

export type { TransformedSource, Transformer, TransformOptions } from './jest/transformer.ts'

/** Options of the transformer, the second part of Jest's `transform` entry. */
export interface VarveJestOptions extends AdapterOptions, DeclaredInputs {
  /** The transformer to wrap: a package such as `'babel-jest'`, or a path, resolved from the working directory. */
  readonly transformer: string
  /**
   * Options of that transformer.
   * @defaultValue none
   */
  readonly transformerConfig?: unknown
}

const FIELDS: Fields<VarveJestOptions> = {
  ...ADAPTER_FIELDS,
  ...DECLARED_FIELDS,
  transformer: TEXT,
  transformerConfig: ANYTHING,
}

/** Called by Jest. Rejects with INVALID_OPTION if an option is unknown or wrong. */
export async function createTransformer(options: VarveJestOptions): Promise<Transformer> {
  checkOptions('@varve/plugins/jest', options, FIELDS)
  const { transformer: name = '', transformerConfig, env, files, ...others } = options
  checkOptions('@varve/plugins/jest', { transformer: name }, { transformer: FIELDS.transformer })
  const loaded = await loadTransformer(name, transformerConfig)
  const space = await new LazyNamespace('jest', others, 'json', transformed).open()
  return cached(loaded, transformerConfig, { env, files }, space)
}

const factory: { readonly createTransformer: (options: VarveJestOptions) => Promise<Transformer> } = {
  createTransformer,
}
export default factory

/** The transformer with a cache in front. Its errors pass through and are not cached. */
function cached(
  loaded: WrappedTransformer,
  transformerConfig: unknown,
  declared: DeclaredInputs,
  space: OpenNamespace,
): Transformer {
  const { transformer } = loaded
  const inner = (options: TransformOptions): TransformOptions => ({
    ...options,
    transformerConfig: transformerConfig ?? {},
  })
  const keys = new KeyMaker(loaded, transformerConfig, declared)
  const keyOf = rememberLast((text, path, options) => {
    const inputs = keys.inputsOf(options, path) // before the transformer loads any of them
    return keys.key(inputs, text, path, options, transformer.getCacheKey?.(text, path, inner(options)))
  })
  const keyOfAsync = async (text: string, path: string, options: TransformOptions): Promise<string> => {
    if (transformer.getCacheKeyAsync === undefined) return keyOf(text, path, options)
    const inputs = keys.inputsOf(options, path)
    return keys.key(inputs, text, path, options, await transformer.getCacheKeyAsync(text, path, inner(options)))
  }
  const directories = new Set<string>()
  /** Whether Jest uses caches: `--no-cache` stores nothing and reads nothing. */
  const isUsed = ({ config }: TransformOptions): boolean => {
    const folder = config?.cacheDirectory
    if (config?.cache === false) return false
    if (folder === undefined || directories.has(folder)) return true
    directories.add(folder)
    clearWith(new JestDirectory(folder), space)
    return true
  }
  const { process, processAsync } = transformer
  return {
    canInstrument: transformer.canInstrument,
    getCacheKey: keyOf,
    getCacheKeyAsync: keyOfAsync,
    ...(process !== undefined && {
      process(text, path, options) {
        const work = (): TransformedSource => process.call(transformer, text, path, inner(options))
        if (!isUsed(options) || !keys.inputsOf(options, path).areFirst) return work()
        const key = keyOf(text, path, options)
        return read(space, key) ?? keep(space, key, work())
      },
    }),
    ...(processAsync !== undefined && {
      async processAsync(text, path, options) {
        const work = (): Promise<TransformedSource> => processAsync.call(transformer, text, path, inner(options))
        if (!isUsed(options) || !keys.inputsOf(options, path).areFirst) return work()
        const key = await keyOfAsync(text, path, options)
        return read(space, key) ?? keep(space, key, await work())
      },
    }),
  }
}

/** Removes all entries if Jest's own cache was cleared. The directory is noted once the removal is committed. */
function clearWith(directory: JestDirectory, space: OpenNamespace): void {
  if (!directory.wasCleared) return directory.note()
  space.clear('')
  void space.committed().then(() => directory.note())
}

type KeyOf = (text: string, path: string, options: TransformOptions) => string

/** Remembers the last key: Jest asks for the key of a file right before it transforms the file. */
function rememberLast(keyOf: KeyOf): KeyOf {
  let last: { readonly asked: readonly unknown[]; readonly key: string } | undefined
  return (text, path, options) => {
    const asked = [text, path, options.configString, demandsOf(options)]
    if (last?.asked.every((part, index) => part === asked[index]) !== true)
      last = { asked, key: keyOf(text, path, options) }
    return last.key
  }
}

function read(space: OpenNamespace, key: string): TransformedSource | undefined {
  const value = space.get(key)?.value
  return transformed(value) ? value : undefined
}

/** Stores a result that Jest accepts. An error of the cache never fails the transformation. */
function keep(space: OpenNamespace, key: string, result: TransformedSource): TransformedSource {
  if (transformed(result)) space.tryPut(key, result)
  return result
}

/** The shape that Jest expects of a transformer's result. Jest ignores other fields. */
const transformed: Shape<TransformedSource> = hasFields<TransformedSource>({ code: isText, map: nullable(sourceMap) })

/**
 * The types of Jest's transformers, and a function that finds and loads one. The types are less strict than those of
 * `@jest/transform`, so that they fit all versions of Jest from 27 on.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { VarveError } from 'varve'
import { disk } from '../host/files.ts'

/** The options that a transformer gets for a file, besides its path and text. */
export interface TransformOptions {
  /** Jest's configuration as a string. */
  readonly configString?: string
  /** The project that Jest transforms the file for. */
  readonly config?: { readonly rootDir: string; readonly cache?: boolean; readonly cacheDirectory?: string }
  /** Whether the code must record its coverage. */
  readonly instrument?: boolean
  readonly transformerConfig?: unknown
  readonly [other: string]: unknown
}

/** The result of a transformation. */
export interface TransformedSource {
  readonly code: string
  readonly map?: unknown
}

type Call<Result> = (sourceText: string, sourcePath: string, options: TransformOptions) => Result

/** A Jest transformer with at least one of `process` (for `require`) and `processAsync` (for `import`). */
export interface Transformer {
  readonly canInstrument?: boolean | undefined
  readonly getCacheKey?: Call<string>
  readonly getCacheKeyAsync?: Call<Promise<string>>
  readonly process?: Call<TransformedSource>
  readonly processAsync?: Call<Promise<TransformedSource>>
}

/** A transformer, its main file, and the name and version of its package. */
export interface WrappedTransformer {
  readonly transformer: Transformer
  readonly file: string
  readonly package: string
}

/** Loads a transformer by name or path, as Jest does. Throws INVALID_OPTION if there is none. */
export async function loadTransformer(name: string, config: unknown): Promise<WrappedTransformer> {
  const file = resolveFrom(process.cwd(), name)
  const module: unknown = await import(pathToFileURL(file).href)
  const exported = unwrap(unwrap(module))
  const made: unknown = hasMethod(exported, 'createTransformer')
    ? await exported.createTransformer(config ?? {})
    : exported
  if (!isTransformer(made)) {
    throw new VarveError(
      'INVALID_OPTION',
      `option 'transformer': '${file}' exports neither process, processAsync nor createTransformer`,
    )
  }
  return { transformer: made, file, package: packageOf(file) }
}

function resolveFrom(folder: string, name: string): string {
  try {
    return createRequire(join(folder, 'package.json')).resolve(name)
  } catch (error) {
    const message = `option 'transformer': '${name}' is not found from '${folder}'; pass the name of a package there, or an absolute path`
    throw new VarveError('INVALID_OPTION', message, { cause: error })
  }
}

/** The default export if there is one. Transpiled CommonJS has it twice. */
function unwrap(module: unknown): unknown {
  return typeof module === 'object' && module !== null && 'default' in module ? module.default : module
}

function hasMethod(
  value: unknown,
  name: 'createTransformer',
): value is { createTransformer(config: unknown): unknown } {
  return (
    typeof value === 'object' &&
    value !== null &&
    name in value &&
    typeof value[name as keyof typeof value] === 'function'
  )
}

function isTransformer(value: unknown): value is Transformer {
  const isCallable = (name: string): boolean => typeof Reflect.get(Object(value), name) === 'function'
  return isCallable('process') || isCallable('processAsync')
}

/** `name@version` of the package that a file belongs to; empty if there is none. */
function packageOf(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, 'package.json')
    if (!disk.existsSync(path)) continue
    const manifest: { name?: string; version?: string } = JSON.parse(disk.readFileSync(path, 'utf8'))
    if (manifest.version !== undefined) return `${manifest.name}@${manifest.version}`
  }
  return ''
}

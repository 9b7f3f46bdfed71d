/**
 * Transformers of Jest: their types, a function that finds and loads one, and the keys of its entries. The types are less strict than those of
 * `@jest/transform`, so that they fit all versions of Jest from 27 on.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { VarveError } from 'varve'
import { disk, environment } from '../host/files.ts'
import { createHash } from 'node:crypto'
import { makeDirectory } from 'varve/internal'
import { type DeclaredInputs, type Inputs, inputsOf } from '../adapters/inputs.ts'
import { digestOfTexts, lenientDigest } from '../build/digest.ts'
import { isInstalled } from '../build/modules.ts'
import { valueText } from '../build/identity.ts'
import { tmpdir } from 'node:os'

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

// The keys of a transformer's entries, which also change when `jest --clearCache` has run.

/**
 * Makes the key of an entry, as Jest's own cache does: from the transformer's own key, or from all inputs of the transformer if
 * it has none. The key also covers the transformer itself, its options, what else decides its results and what Jest demands of the code.
 */
export class KeyMaker {
  readonly #loaded: WrappedTransformer
  readonly #options: string
  readonly #declared: DeclaredInputs
  readonly #base: string
  readonly #inputs: Map<string, Inputs> = new Map()
  readonly #packages: Map<string, string> = new Map()

  constructor(loaded: WrappedTransformer, transformerConfig: unknown, declared: DeclaredInputs) {
    this.#loaded = loaded
    this.#declared = declared
    this.#options = textOfConfig(transformerConfig)
    this.#base = createHash('sha256')
      .update(loaded.package)
      .update(lenientDigest(transformerConfig, (text) => text))
      .digest('hex')
  }

  key({ digest }: Inputs, text: string, path: string, options: TransformOptions, own: string | undefined): string {
    const rest = own === undefined ? ['file', path, options.configString ?? '', text] : ['own', own]
    const hash = createHash('sha256')
    const parts = [this.#base, digest, demandsOf(options), valueText(environment()['NODE_ENV']), ...rest]
    for (const part of parts) hash.update(`${part.length}:`).update(part)
    return hash.digest('hex')
  }

  /** What else decides the result of a file. Looked up once for each package: Jest makes a transformer for each file of tests. */
  inputsOf({ config }: TransformOptions, path: string): Inputs {
    const root = config?.rootDir ?? ''
    const own = this.#packageOf(dirname(path))
    const id = JSON.stringify([root, own])
    const known = this.#inputs.get(id)
    if (known !== undefined) return known
    const folders = [...new Set([process.cwd(), root, own])].filter((folder) => folder !== '')
    const source = { transformers: [this.#loaded.file], folders, config: this.#options }
    const inputs = inputsOf({ ...source, ...this.#declared })
    this.#inputs.set(id, inputs)
    return inputs
  }

  /** The directory of the package of the project that has a directory, where Babel looks for its config; empty if there is none. */
  #packageOf(folder: string): string {
    const known = this.#packages.get(folder)
    if (known !== undefined) return known
    const isTop = folder === dirname(folder) || isInstalled(`${folder}/`)
    const found = isTop ? '' : disk.existsSync(join(folder, 'package.json')) ? folder : this.#packageOf(dirname(folder))
    this.#packages.set(folder, found)
    return found
  }
}

/** The text of a transformer's options, in which they name plugins; empty if JSON cannot represent them. */
function textOfConfig(transformerConfig: unknown): string {
  try {
    return JSON.stringify(transformerConfig) ?? ''
  } catch {
    return ''
  }
}

/** What Jest demands of the code: coverage, and the syntax that need not be transformed. */
export function demandsOf(options: TransformOptions): string {
  return JSON.stringify(
    Object.entries(options)
      .filter(([name]) => name === 'instrument' || name.startsWith('supports'))
      .sort(),
  )
}

// `jest --clearCache` removes Jest's cache directory and loads no transformer, so the next run finds out:
//
//   <cacheDirectory>/varve            is gone after the directory was cleared
//   <temporary directory>/varve-jest-<digest of its path>    stays then, and is gone on a fresh machine, which has cleared nothing

/** Jest's cache directory, as this process found it. */
export class JestDirectory {
  readonly #mark: string
  readonly #witness: string

  constructor(folder: string) {
    this.#mark = join(folder, 'varve')
    this.#witness = join(tmpdir(), `varve-jest-${digestOfTexts([folder])}`)
  }

  /** Whether it was cleared since the last call of `note` on this machine. */
  get wasCleared(): boolean {
    return !disk.existsSync(this.#mark) && disk.existsSync(this.#witness)
  }

  /** Called when no entry from before is left. Without a directory to write to, clearing goes unnoticed. */
  note(): void {
    try {
      makeDirectory(disk, dirname(this.#mark))
      for (const path of [this.#mark, this.#witness]) if (!disk.existsSync(path)) disk.writeFileSync(path, '')
    } catch {
      // Read-only, as in a sandbox.
    }
  }
}

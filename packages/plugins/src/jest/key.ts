/** The keys of a transformer's entries. */
import { createHash } from 'node:crypto'
import { type Inputs, inputsOf } from '../adapters/inputs.ts'
import { lenientDigest } from '../build/digest.ts'
import type { Loaded, TransformOptions } from './transformer.ts'

/**
 * Makes the key of an entry, as Jest's own cache does: from the transformer's own key, or from all inputs of the transformer if
 * it has none. The key also covers the transformer itself, its options, what else decides its results and what Jest demands of the code.
 */
export class KeyMaker {
  readonly #loaded: Loaded
  readonly #options: string
  readonly #base: string
  readonly #inputs: Map<unknown, Inputs> = new Map()

  constructor(loaded: Loaded, transformerConfig: unknown) {
    this.#loaded = loaded
    this.#options = textOfConfig(transformerConfig)
    this.#base = createHash('sha256').update(loaded.package).update(lenientDigest(transformerConfig, (text) => text)).digest('hex')
  }

  key({ digest }: Inputs, text: string, path: string, options: TransformOptions, own: string | undefined): string {
    const rest = own === undefined ? ['file', path, options.configString ?? '', text] : ['own', own]
    const hash = createHash('sha256')
    const parts = [this.#base, digest, demandsOf(options), process.env['NODE_ENV'] ?? '', ...rest]
    for (const part of parts) hash.update(`${part.length}:`).update(part)
    return hash.digest('hex')
  }

  /** What else decides results. Looked up once for each directory: Jest makes a transformer for each file of tests. */
  inputsOf({ config }: TransformOptions): Inputs {
    const root = config?.rootDir
    const known = this.#inputs.get(root)
    if (known !== undefined) return known
    const folders = [...new Set([process.cwd(), ...(root === undefined ? [] : [root])])]
    const inputs = inputsOf([this.#loaded.file], folders, this.#options)
    this.#inputs.set(root, inputs)
    return inputs
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
  return JSON.stringify(Object.entries(options).filter(([name]) => name === 'instrument' || name.startsWith('supports')).sort())
}

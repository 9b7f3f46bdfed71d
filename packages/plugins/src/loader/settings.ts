/** The options of a compiler that decide what loaders make of a module, besides the options of the loaders. */
import { lenientDigest } from '../build/digest.ts'
import { type Parts, valueParts } from '../build/parts.ts'
import type { ChainContext } from './context.ts'

/** Options of the output that loaders read. Where the output goes decides no module. */
const OUTPUT = [
  'environment',
  'uniqueName',
  'publicPath',
  'module',
  'hashFunction',
  'hashDigest',
  'hashDigestLength',
  'hashSalt',
]

const known: WeakMap<object, string> = new WeakMap()

/**
 * The digest of what `this.resolve` finds, of the code that the output may contain, and of what the config adds to the context of all
 * loaders. Empty in a process without a compiler. A function in these options counts as its kind.
 */
export function settingsOf(context: ChainContext, toRelative: (text: string) => string): string {
  const options = optionsIn(context)
  if (options === undefined) return ''
  const made = known.get(options) ?? lenientDigest(deciding(options), toRelative)
  known.set(options, made)
  return made
}

/** The parts of that digest. */
export function settingsParts(context: ChainContext, toRelative: (text: string) => string): Parts {
  return valueParts(deciding(optionsIn(context) ?? {}), toRelative)
}

function deciding(options: object): Readonly<Record<string, unknown>> {
  const output = objectIn(options, 'output') ?? {}
  const read = OUTPUT.map((name): [string, unknown] => [name, Reflect.get(output, name)])
  return {
    resolve: Reflect.get(options, 'resolve'),
    loader: Reflect.get(options, 'loader'),
    output: Object.fromEntries(read),
  }
}

function optionsIn(context: ChainContext): object | undefined {
  return objectIn(objectIn(context, '_compiler'), 'options')
}

function objectIn(value: object | undefined, name: string): object | undefined {
  const found: unknown = value === undefined ? undefined : Reflect.get(value, name)
  return typeof found === 'object' && found !== null ? found : undefined
}

/** The options of a compiler that decide what loaders make of a module, besides the options of the loaders. */
import { lenientDigest } from '../build/digest.ts'
import type { ChainContext } from './context.ts'

/** Options of the output that loaders read. Where the output goes decides no module. */
const OUTPUT = ['environment', 'uniqueName', 'publicPath', 'module', 'hashFunction', 'hashDigest', 'hashDigestLength', 'hashSalt']

const known: WeakMap<object, string> = new WeakMap()

/**
 * The digest of what `this.resolve` finds, of the code that the output may contain, and of what the config adds to the context of all
 * loaders. Empty in a process without a compiler. A function in these options counts as its kind.
 */
export function settingsOf(context: ChainContext, toRelative: (text: string) => string): string {
  const options = objectIn(objectIn(context, '_compiler'), 'options')
  if (options === undefined) return ''
  const made = known.get(options) ?? lenientDigest(deciding(options), toRelative)
  known.set(options, made)
  return made
}

function deciding(options: object): unknown {
  const output = objectIn(options, 'output') ?? {}
  return [Reflect.get(options, 'resolve'), Reflect.get(options, 'loader'), OUTPUT.map((name): unknown => Reflect.get(output, name))]
}

function objectIn(value: object | undefined, name: string): object | undefined {
  const found: unknown = value === undefined ? undefined : Reflect.get(value, name)
  return typeof found === 'object' && found !== null ? found : undefined
}

/**
 * Options that all adapters share (keyv, unstorage, metro, jest, parcel): what each does, its default and its price.
 * Checked before anything else happens.
 */
import { type EngineChoice, VarveError } from 'varve'

/** Where the entries of an adapter live and how they are kept. */
export interface AdapterOptions {
  /**
   * Name of the cache: two adapters with different names never meet, also where `VARVE_DIR` puts all caches into one
   * folder. Letters, digits and `. _ @ + -`.
   * @defaultValue the name of the tool, such as `'keyv'`
   */
  readonly name?: string | undefined
  /**
   * Folder of the cache, relative to the working directory. `VARVE_DIR` in the environment beats it.
   * @defaultValue `node_modules/.cache/varve/<name>` beside the nearest package.json
   */
  readonly dir?: string | undefined
  /**
   * A change makes every entry a miss and frees its space. Put in what the tool's keys do not know of.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * Cap of the folder: bytes, or a text such as `'500MB'`. What was written longest ago goes first, at compaction. A
   * small cap costs misses.
   * @defaultValue `'1GiB'`
   */
  readonly maxBytes?: number | string | undefined
  /**
   * `'durable'` makes every write survive a loss of power, for one disk sync each, 0.1 to 10 ms. `'relaxed'` survives
   * the death of the process.
   * @defaultValue `'relaxed'`
   */
  readonly durability?: 'relaxed' | 'durable' | undefined
  /**
   * Read, write nothing to disk; what is put is seen by this process only, and costs its memory.
   * @defaultValue `false`
   */
  readonly readOnly?: boolean | undefined
  /**
   * Which engine of Varve to use; both read and write the same folder. WebAssembly is about half as fast.
   * @defaultValue `'auto'`: native, WebAssembly where addons cannot be loaded
   */
  readonly engine?: EngineChoice | undefined
  /**
   * Told what went wrong without failing a call: damage met, a full disk, a folder that cannot be opened. Each kind is
   * told once.
   * @defaultValue `process.emitWarning`
   */
  readonly onWarning?: ((warning: VarveError) => void) | undefined
}

/** What an option accepts, in words and as a check. */
export type Field = readonly [expected: string, accepts: (value: unknown) => boolean]

/** A field for each option, so that a new option cannot be forgotten. */
export type Fields<Options> = { readonly [Name in keyof Required<Options>]: Field }

const isWord = (value: unknown): boolean => typeof value === 'string' && value !== ''
const isFunction = (value: unknown): boolean => typeof value === 'function'

/** A field that takes one of a few words. */
const oneOf = (...words: readonly string[]): Field => [
  words.map((word) => `'${word}'`).join(' or '),
  (value) => typeof value === 'string' && words.includes(value),
]

/** Fields of AdapterOptions. */
export const ADAPTER_FIELDS: Fields<AdapterOptions> = {
  name: ["a name such as 'my-app'", isWord],
  dir: ['the path of a folder', isWord],
  version: ['a string', (value) => typeof value === 'string'],
  maxBytes: ["bytes or a text such as '500MB'", (value) => isWord(value) || (typeof value === 'number' && value > 0)],
  durability: oneOf('relaxed', 'durable'),
  readOnly: ['true or false', (value) => typeof value === 'boolean'],
  engine: oneOf('auto', 'native', 'wasm', 'memory'),
  onWarning: ['a function', isFunction],
}

/**
 * Throws INVALID_OPTION where `given` is no object, has an option that `fields` does not know, or a value of the wrong
 * kind. `call` names the call in the message.
 */
export function checkOptions<Options extends object>(call: string, given: Options, fields: Fields<Options>): void {
  const value: unknown = given
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new VarveError('INVALID_OPTION', `${call} takes an object with options, not ${String(value)}`)
  }
  const known = new Map<string, Field>(Object.entries(fields))
  for (const [name, found] of Object.entries(value)) {
    const field = known.get(name)
    if (field === undefined) throw unknownOption(call, name, [...known.keys()])
    const [expected, accepts] = field
    if (found === undefined || accepts(found)) continue
    const shown = JSON.stringify(found) ?? String(found)
    throw new VarveError('INVALID_OPTION', `${call}: option '${name}' is ${shown}; expected ${expected}`)
  }
}

/** Names that the tools' own caches have for these options, which people bring along. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ['base', 'dir'],
  ['cachedir', 'dir'],
  ['cachedirectory', 'dir'],
  ['directory', 'dir'],
  ['maxsize', 'maxBytes'],
  ['root', 'dir'],
])

function unknownOption(call: string, name: string, known: readonly string[]): VarveError {
  const word = name.toLowerCase()
  const other = OTHER_WORDS.get(word)
  const near = other !== undefined && known.includes(other) ? other : known.find((option) => differsLittle(word, option.toLowerCase()))
  const wayOut = near === undefined ? `it takes ${known.join(', ')}` : `did you mean '${near}'?`
  return new VarveError('INVALID_OPTION', `${call} has no option '${name}'; ${wayOut}`)
}

/** Whether two words are equal but for one or two letters: the same beginning and the same end around them. */
function differsLittle(given: string, option: string): boolean {
  const shortest = Math.min(given.length, option.length)
  let start = 0
  while (start < shortest && given[start] === option[start]) start++
  let end = 0
  while (end < shortest - start && given.at(-1 - end) === option.at(-1 - end)) end++
  return Math.max(given.length, option.length) - start - end <= Math.min(2, shortest - 1)
}

/**
 * Recorded inputs, one text each, and the digests by which they are compared.
 *
 *   content .browserslistrc      the bytes of a file
 *   existence .babelrc           whether the path exists
 *   type src/pages               whether the path is a file, a directory or missing
 *   link src/current             where the path leads, relative to its directory
 *   list src/pages               the names in a directory
 *   tree src/pages               the names in a directory and in all directories below it, without packages
 *   package ../package.json      a package of Yarn Plug'n'Play, and the versions of what it depends on
 *   variable BROWSERSLIST        an environment variable
 */
import { dirname, isAbsolute, relative } from 'node:path'
import { randomUUID } from 'node:crypto'
import { digestOfInput, digestOfRead, READ_KINDS, type ReadKind, sentenceOf } from 'varve/reads'
import { disk } from '../host/files.ts'

/** The kinds of inputs. */
export type InputKind = ReadKind | 'existence' | 'variable'

/** The digest of a path that does not exist. */
const MISSING = 'missing'

/** Begins the digest of a file that has changed while it was in use. What a build made with it, no other one can use. */
const UNKNOWN = 'unknown'

const READS: ReadonlySet<string> = new Set(READ_KINDS)

/** Inputs with their digests. */
export type Digests = ReadonlyMap<string, string>

export function inputOf(kind: InputKind, name: string): string {
  return `${kind} ${name}`
}

/** The current digests of inputs. */
export function digestsOf(inputs: Iterable<string>): Map<string, string> {
  return new Map(Array.from(inputs, (input) => [input, digestOf(input)]))
}

/** The inputs that files are which have changed while they were in use. Their digests are equal to no other ones. */
export function unknownInputs(paths: readonly string[]): Map<string, string> {
  return new Map(paths.map((path) => [inputOf('content', path), `${UNKNOWN} ${randomUUID()}`]))
}

/** The paths that webpack compares: contents as files, or as missing; existence as missing. */
export function pathsOf(inputs: Iterable<string>): { readonly files: string[]; readonly missing: string[] } {
  const files: string[] = []
  const missing: string[] = []
  for (const input of inputs) {
    const [kind, name] = partsOf(input)
    if (kind === 'content' && disk.existsSync(name)) files.push(name)
    else if (kind === 'content' || kind === 'existence') missing.push(name)
  }
  return { files, missing }
}

/** All paths of inputs. */
export function pathsIn(digests: Digests): string[] {
  return namesOfKinds(digests.keys(), 'content', 'existence', 'type', 'link', 'list', 'tree', 'package')
}

/** The inputs of paths that do not exist, whichever way they are looked for. */
export function inputsOfMissing(paths: readonly string[]): string[] {
  return paths.flatMap((path) => [inputOf('content', path), inputOf('existence', path)])
}

/** The names of the inputs of these kinds. */
export function namesOfKinds(inputs: Iterable<string>, ...kinds: readonly InputKind[]): string[] {
  return Array.from(inputs, partsOf).flatMap(([kind, name]) => (kinds.some((one) => one === kind) ? [name] : []))
}

/** Whether the inputs that webpack does not compare are unchanged: names in directories, links, packages in archives, and variables. */
export function isUnchanged(digests: Digests): boolean {
  for (const [input, digest] of digests) {
    if (digest.startsWith(UNKNOWN) || (!/^(?:content|existence) /.test(input) && digestOf(input) !== digest))
      return false
  }
  return true
}

/** The names of all changed inputs: variables, and absolute paths. */
export function changedInputs(digests: Digests): string[] {
  return Array.from(digests)
    .filter(([input, digest]) => digestOf(input) !== digest)
    .map(([input]) => partsOf(input)[1])
}

/** What has changed in inputs, in words, by name: variables, and absolute paths. */
export function changesIn(digests: Digests, context: string): Map<string, string> {
  const words = new Map<string, string>()
  for (const [input, before] of digests) {
    const after = digestOf(input)
    const [kind, path] = partsOf(input)
    if (before === after || words.has(path)) continue
    const what = kind === 'variable' ? 'env' : kind === 'list' || kind === 'tree' ? 'list' : 'file'
    words.set(path, sentenceOf({ kind: what, name: nameOf(path, context), before, after }))
  }
  return words
}

/** Names for a reader: paths relative to `context`, sorted. */
export function namesOf(names: readonly string[], context: string): string[] {
  return [...new Set(names.map((name) => nameOf(name, context)))].sort()
}

function nameOf(name: string, context: string): string {
  return isAbsolute(name) ? relative(context, name) : name
}

export function digestOf(input: string): string {
  const [kind, name] = partsOf(input)
  try {
    if (kind === 'variable') return digestOfInput(process.env[name], name)
    if (!isReadKind(kind)) return disk.existsSync(name) ? 'there' : MISSING
    const digest = digestOfRead(kind, name)
    return kind === 'link' ? relative(dirname(name), digest) : digest // stored relative to the directory of the link
  } catch {
    return MISSING // or not readable
  }
}

export function isReadKind(kind: string): kind is ReadKind {
  return READS.has(kind)
}

/** The kind and the name of an input. An input from a cache may have any kind. */
export function partsOf(input: string): readonly [kind: string, name: string] {
  const space = input.indexOf(' ')
  return [input.slice(0, space), input.slice(space + 1)]
}

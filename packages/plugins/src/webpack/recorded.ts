/**
 * Inputs that were recorded, as one text each, and the digests that they are compared by.
 *
 *   content .browserslistrc      the bytes of a file
 *   existence .babelrc           whether there is something
 *   list src/pages               the names in a folder
 *   tree src/pages               the names in it and in all folders below, without packages
 *   variable BROWSERSLIST        a variable of the environment
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'

/** The kinds of inputs. */
export type InputKind = 'content' | 'existence' | 'list' | 'tree' | 'variable'

/** Inputs with their digests. */
export type Digests = ReadonlyMap<string, string>

/** Folders that a tree leaves out: large, and compared otherwise. */
const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', '.git'])

export function inputOf(kind: InputKind, name: string): string {
  return `${kind} ${name}`
}

/** The digests of inputs, as they are now. */
export function digestsOf(inputs: Iterable<string>): Map<string, string> {
  return new Map(Array.from(inputs, (input) => [input, digestOf(input)]))
}

/** The paths that webpack compares: contents as files, or as missing, and whether the others are there. */
export function pathsOf(inputs: Iterable<string>): { readonly files: string[]; readonly missing: string[] } {
  const files: string[] = []
  const missing: string[] = []
  for (const input of inputs) {
    const [kind, name] = partsOf(input)
    if (kind === 'content' && existsSync(name)) files.push(name)
    else if (kind === 'content' || kind === 'existence') missing.push(name)
  }
  return { files, missing }
}

/** Whether everything is as it was that webpack does not compare: names in folders, and variables. */
export function isUnchanged(digests: Digests): boolean {
  for (const [input, digest] of digests) if (!/^(?:content|existence) /.test(input) && digestOf(input) !== digest) return false
  return true
}

/** The names of all inputs that differ now: of variables, and paths relative to `context`. */
export function changedInputs(digests: Digests, context: string): string[] {
  const changed = Array.from(digests).filter(([input, digest]) => digestOf(input) !== digest)
  const names = changed.map(([input]) => partsOf(input)[1]).map((name) => (isAbsolute(name) ? relative(context, name) : name))
  return [...new Set(names)].sort()
}

function digestOf(input: string): string {
  const [kind, name] = partsOf(input)
  try {
    if (kind === 'variable') return hashed(process.env[name] ?? '\0')
    if (kind === 'content') return hashed(readFileSync(name))
    if (kind === 'list') return hashed(namesIn(name, false).join('\n'))
    if (kind === 'tree') return hashed(namesIn(name, true).join('\n'))
    return existsSync(name) ? 'there' : 'missing'
  } catch {
    return 'missing' // or a folder in the place of a file, or not to be read
  }
}

function namesIn(folder: string, isDeep: boolean): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const isOpened = isDeep && entry.isDirectory() && !LEFT_OUT.has(entry.name)
    const below = isOpened ? namesIn(join(folder, entry.name), true).map((name) => `${entry.name}/${name}`) : []
    return [`${entry.isDirectory() ? 'folder' : 'file'} ${entry.name}`, ...below]
  })
}

function partsOf(input: string): readonly [kind: string, name: string] {
  const space = input.indexOf(' ')
  return [input.slice(0, space), input.slice(space + 1)]
}

function hashed(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22)
}

/**
 * Stores paths inside the project relative to its root, so that another checkout finds the same entries. In fields that are
 * known to hold paths, a mark replaces the root, and another one the checkout around it, as in a monorepo. If the root occurs elsewhere, such as in code, the entry is valid for that root
 * only: a replacement would break source maps and anything else derived from the code. `OwnPath` is the exception.
 */
import { dirname, join, resolve } from 'node:path'
import { isPlainData } from './digest.ts'
import { isFile, textOf, disk } from '../host/files.ts'
import { Uncacheable } from './pack.ts'
import { hasPositions } from './source-map.ts'

const MARK = '<varve:root>'
const CHECKOUT_MARK = '<varve:checkout>'
/** The marks in a path with the separators of Windows. */
const WINDOWS_MARK = '<varve:root\\>'
const WINDOWS_CHECKOUT_MARK = '<varve:checkout\\>'
const ANY_MARKS: readonly string[] = ['<varve:root', '<varve:checkout']

/** Limit of the nesting of an entry, deeper than any real one. */
const DEPTH_MAX = 500
const ABOVE = /^<varve:root>(?:\/\.\.)+$/

/** A spelling of the root at the start of a path, and the mark that replaces it. */
interface Spelling {
  readonly start: string
  readonly mark: string
  readonly pattern: RegExp
}

/** Fields that hold paths, or messages for users. */
const FIELDS: ReadonlySet<string> = new Set(
  (
    'path paths id ids importer exporter file sources sourceRoot implicitlyLoadedAfterOneOf ' +
    'resolveDir watchFiles watchDirs files folders missing message text frame stack cssScopeTo'
  ).split(' '),
)

/** Fields that hold code. */
const CODE: ReadonlySet<string> = new Set(['code', 'returned'])

/** The field with stack traces. It is for users only, and may name tools and loaders outside of the project. */
const STACK = 'stack'

/** The root directory of one project. */
export class Root {
  /** Absolute, with the separators of the platform. */
  readonly folder: string
  /** The directory that is moved as a whole: the root, or one above it. */
  readonly checkout: string
  /** Empty for the top directory of a file system, with which every path begins. */
  readonly #marked: readonly Spelling[]
  /** The directories above the root, and the marks that replace a text that is exactly one of them. */
  readonly #above: ReadonlyMap<string, string>
  /** Spellings by which a text may name a path in the root or next to it. */
  readonly #spellings: readonly string[]
  /** The parent of the root if it is a directory at the top of the file system, such as /workspaces. As a text, it may not be a path. */
  readonly top: string | undefined
  /** A text with fewer characters holds neither the mark nor a path that matters here. */
  readonly pathLengthMin: number

  /**
   * `links` are other paths of the directory. An entry that names one of them is valid for this root only. `checkout` is the directory
   * that is moved as a whole, the root or one above it.
   */
  constructor(folder: string, links: readonly string[] = [], checkout: string = folder) {
    this.folder = resolve(folder)
    this.checkout = resolve(checkout)
    const marks = new Map([
      [this.checkout, WINDOWS_CHECKOUT_MARK],
      [slashed(this.checkout), CHECKOUT_MARK],
    ])
    const ownMarks = new Map([
      [this.folder, WINDOWS_MARK],
      [slashed(this.folder), MARK],
    ])
    for (const start of ownMarks.keys()) marks.delete(start)
    // The pattern does not match a directory whose name only begins or ends with the root. Vite puts `/@fs` before the paths of files.
    const pattern = (start: string): RegExp =>
      new RegExp(`(?:(?<![\\w.@+-])|(?<=/@fs))${escape(start)}(?![\\w.@+-])`, 'g')
    const spelling = ([start, mark]: [string, string]): Spelling => ({ start, mark, pattern: pattern(start) })
    this.#marked = [...ownMarks, ...marks].filter(([start]) => !/[\\/]$/.test(start)).map(spelling)
    this.#above = new Map(foldersAbove(this.folder).map((path, index) => [path, MARK + '/..'.repeat(index + 1)]))
    const parent = dirname(this.checkout)
    const near = slashed(parent).endsWith('/') ? this.checkout : parent
    this.top = near === parent && !this.#above.has(parent) ? parent : undefined
    this.#spellings = [
      ...new Set([near, ...links].flatMap((path) => [slashed(path), path, JSON.stringify(path).slice(1, -1)])),
    ]
    this.pathLengthMin = Math.min(
      ...[...ANY_MARKS, ...ownMarks.keys(), ...marks.keys(), ...this.#above.keys(), ...this.#spellings].map(
        ({ length }) => length,
      ),
    )
  }

  /** A text with the mark instead of the root. A text that is a directory above the root becomes relative, too. */
  toRelative(text: string): string {
    const above = this.#above.get(text)
    if (above !== undefined) return above
    return this.#marked.reduce(
      (changed, { start, mark, pattern }) => (changed.includes(start) ? changed.replace(pattern, mark) : changed),
      text,
    )
  }

  /** Plain data with the mark instead of the root, and whether it is valid for this root only. `own` makes code relative. */
  relativeEntry(entry: unknown, own?: OwnPath): [relative: unknown, isBound: boolean] {
    let isBound = false
    const relative = mapLeaves(entry, '', (leaf, field) => {
      if (typeof leaf === 'string') checkMark(leaf)
      const changed = typeof leaf === 'string' ? this.#relativeText(leaf, field, own) : leaf
      isBound ||= field !== STACK && this.isNamedIn(changed)
      return changed
    })
    return [relative, isBound]
  }

  #relativeText(text: string, field: string, own: OwnPath | undefined): string {
    if (FIELDS.has(field)) return this.toRelative(text)
    return CODE.has(field) && own !== undefined ? own.relative(text, (path) => this.toRelative(path)) : text
  }

  /** The entry with this root instead of the mark. */
  absoluteEntry(relative: unknown): unknown {
    return mapLeaves(relative, '', (leaf) => (typeof leaf === 'string' ? this.toAbsolute(leaf) : leaf))
  }

  /** A text with the root instead of the mark. */
  toAbsolute(text: string): string {
    if (!hasMark(text)) return text
    if (ABOVE.test(text)) return resolve(this.folder, text.slice(MARK.length + 1))
    // A function, because `$$` in a directory name has a meaning in a replacement text.
    return this.#marked.reduce((changed, { start, mark }) => changed.replaceAll(mark, () => start), text)
  }

  /** Whether a relative text, or bytes, may name the root or a path next to it. */
  isNamedIn(leaf: string | Uint8Array): boolean {
    const text = typeof leaf === 'string' ? leaf : Buffer.from(leaf.buffer, leaf.byteOffset, leaf.byteLength)
    return this.#spellings.some((spelling) => isPathIn(text, spelling))
  }
}

/** The root of the checkout that contains a directory. */
export function checkoutOf(context: string): Root {
  return realRoot(checkoutFolder(context))
}

/** The root of a project, in its checkout. */
export function projectRoot(folder: string): Root {
  const project = resolve(folder)
  return new Root(project, [], checkoutFolder(project))
}

/**
 * The directory that is moved as a whole: the nearest one with `.git`. A copy without it, as in a container, may have a workspace
 * around the directory; if not, it is the directory itself.
 */
function checkoutFolder(start: string): string {
  let workspace: string | undefined
  for (let folder = start; ; folder = dirname(folder)) {
    if (disk.existsSync(join(folder, '.git'))) return folder
    if (workspace === undefined && isWorkspace(folder)) workspace = folder
    if (dirname(folder) === folder) return workspace ?? start
  }
}

/** Whether a directory has other packages below it. */
function isWorkspace(folder: string): boolean {
  return hasWorkspaces(folder) || disk.existsSync(join(folder, 'nx.json'))
}

/** Whether a package manager installs the packages below a directory together. */
export function hasWorkspaces(folder: string): boolean {
  return (
    isFile(join(folder, 'pnpm-workspace.yaml')) ||
    /"workspaces"\s*:/.test(textOf(join(folder, 'package.json'), 'latin1') ?? '')
  )
}

/** Bundlers follow links, so the root does, too. */
function realRoot(folder: string): Root {
  try {
    const real = disk.realpathSync(folder)
    return new Root(real, real === folder ? [] : [folder])
  } catch {
    return new Root(folder)
  }
}

/** A relative text as users know it: a path without the mark of the root. */
export function withoutRoot(text: string): string {
  return text.replaceAll(/<varve:(?:root|checkout)\\?>[\\/]?/g, '')
}

/** Whether a text would become a path. */
export function hasMark(text: string): boolean {
  return ANY_MARKS.some((mark) => text.includes(mark))
}

/** Throws Uncacheable if a text holds the mark, which would become a path. */
export function checkMark(text: string): void {
  if (hasMark(text)) throw new Uncacheable('holds the mark of the root')
}

/** A copy of plain data. `change` replaces each text and each Uint8Array, and gets the name of its field. */
export function mapLeaves(
  value: unknown,
  field: string,
  change: (leaf: string | Uint8Array, field: string) => unknown,
  depth = 0,
): unknown {
  if (typeof value === 'string' || value instanceof Uint8Array) return change(value, field)
  if (typeof value !== 'object' || value === null) return value
  if (depth > DEPTH_MAX) throw new Uncacheable('holds a value that contains itself, or is nested too deeply')
  if (!isPlainData(value)) return value // `pack` refuses it
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, field, change, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, mapLeaves(item, name, change, depth + 1)]),
  )
}

/** Whether a path occurs, and not only as the beginning of a longer name: `/work` is not in `/worker`. */
function isPathIn(text: string | Buffer, path: string): boolean {
  for (let at = text.indexOf(path); at !== -1; at = text.indexOf(path, at + 1)) {
    const next = text.at(at + path.length)
    if (next === undefined || !/\w/.test(typeof next === 'number' ? String.fromCharCode(next) : next)) return true
  }
  return false
}

/** The directories above a root, the nearest first, without those whose names are too short to be a path for sure. */
function foldersAbove(folder: string): string[] {
  const parent = dirname(folder)
  return parent.split(/[\\/]/).length > 2 && parent !== folder ? [parent, ...foldersAbove(parent)] : []
}

function slashed(path: string): string {
  return path.replaceAll('\\', '/')
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

// Code that names the file of its own module, as MDX does in a development server:
//
//   fileName: "/checkout/src/page.mdx",
//
// It becomes relative only if that cannot change anything else: the path is plain, so that every literal spells it alike; it is at the
// start of a literal; and the source map has no position on that line, because the columns behind a path depend on its length.

/** The input of an entry whose code names the root: whether the root is plain, too. */
export const PLAIN_ROOT = 'plain root'

/** Whether every literal spells this path without escapes. */
export function isPlainPath(path: string): boolean {
  return /^\/[\w./@+-]*$/.test(path)
}

/** Makes the code of one module relative. */
export class OwnPath {
  readonly #path: string
  readonly #map: unknown
  #isUsed = false

  /** `path`: absolute path of the module's file. `map`: the source map of the code. */
  constructor(path: string, map: unknown) {
    this.#path = path
    this.#map = map
  }

  /** Whether the code had the path. */
  get isUsed(): boolean {
    return this.#isUsed
  }

  /** The code with what `change` makes of the path in these places, or unchanged if any place does not allow that. */
  relative(code: string, change: (path: string) => string): string {
    if (!isPlainPath(this.#path) || !code.includes(this.#path)) return code
    const lines = code.split('\n')
    for (const [index, line] of lines.entries()) {
      if (!line.includes(this.#path)) continue
      const pieces = line.split(this.#path)
      const isLiteral = pieces
        .slice(0, -1)
        .every((piece, at) => piece.endsWith('"') && /^["?]/.test(pieces[at + 1] ?? ''))
      if (!isLiteral || hasPositions(this.#map, index)) return code
      lines[index] = pieces.join(change(this.#path))
    }
    this.#isUsed = true
    return lines.join('\n')
  }
}

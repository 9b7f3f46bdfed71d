/**
 * Stores paths inside the project relative to its root, so that another checkout finds the same entries. In fields that are
 * known to hold paths, a mark replaces the root. If the root occurs elsewhere, such as in code, the entry is valid for that root
 * only: a replacement would break source maps and anything else derived from the code.
 */
import { dirname, resolve } from 'node:path'
import { isPlain } from './digest.ts'
import { Uncacheable } from './uncacheable.ts'

const MARK = '<varve:root>'
/** The mark in a path with the separators of Windows. */
const WINDOWS_MARK = '<varve:root\\>'
const ANY_MARK = '<varve:root'

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
    'resolveDir watchFiles watchDirs files folders missing message text frame stack'
  ).split(' '),
)

/** The field with stack traces. It is for users only, and may name tools and loaders outside of the project. */
const STACK = 'stack'

/** The root directory of one project. */
export class Root {
  /** Absolute, with the separators of the platform. */
  readonly folder: string
  /** Empty for the top directory of a file system, with which every path begins. */
  readonly #marked: readonly Spelling[]
  /** Spellings by which a text may name a path in the root or next to it. */
  readonly #spellings: readonly string[]

  constructor(folder: string) {
    this.folder = resolve(folder)
    const withSlashes = slashed(this.folder)
    const marks = new Map([[this.folder, WINDOWS_MARK], [withSlashes, MARK]])
    // The pattern does not match a directory whose name only begins with the root.
    const spelling = ([start, mark]: [string, string]): Spelling => ({ start, mark, pattern: new RegExp(`${escape(start)}(?![\\w.@+-])`, 'g') })
    this.#marked = withSlashes.endsWith('/') ? [] : Array.from(marks, spelling)
    const parent = dirname(this.folder)
    const near = slashed(parent).endsWith('/') ? this.folder : parent
    this.#spellings = [...new Set([slashed(near), near, JSON.stringify(near).slice(1, -1)])]
  }

  /** A text with the mark instead of the root. */
  toRelative(text: string): string {
    return this.#marked.reduce((changed, { start, mark, pattern }) => (changed.includes(start) ? changed.replace(pattern, mark) : changed), text)
  }

  /** Plain data with the mark instead of the root, and whether it is valid for this root only. */
  relativeEntry(entry: unknown): [relative: unknown, isBound: boolean] {
    let isBound = false
    const relative = mapLeaves(entry, '', (leaf, field) => {
      if (typeof leaf === 'string' && leaf.includes(ANY_MARK)) throw new Uncacheable('holds the mark of the root')
      const changed = typeof leaf === 'string' && FIELDS.has(field) ? this.toRelative(leaf) : leaf
      isBound ||= field !== STACK && this.#isNamedIn(changed)
      return changed
    })
    return [relative, isBound]
  }

  /** The entry with this root instead of the mark. */
  absoluteEntry(relative: unknown): unknown {
    return mapLeaves(relative, '', (leaf) => {
      if (typeof leaf !== 'string' || !leaf.includes(ANY_MARK)) return leaf
      // A function, because `$$` in a directory name has a meaning in a replacement text.
      return this.#marked.reduce((changed, { start, mark }) => changed.replaceAll(mark, () => start), leaf)
    })
  }

  #isNamedIn(leaf: string | Uint8Array): boolean {
    const text = typeof leaf === 'string' ? leaf : Buffer.from(leaf.buffer, leaf.byteOffset, leaf.byteLength)
    return this.#spellings.some((spelling) => text.includes(spelling))
  }
}

/** A copy of plain data. `change` replaces each text and each Uint8Array, and gets the name of its field. */
export function mapLeaves(value: unknown, field: string, change: (leaf: string | Uint8Array, field: string) => unknown): unknown {
  if (typeof value === 'string' || value instanceof Uint8Array) return change(value, field)
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, field, change))
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapLeaves(item, name, change)]))
}

function slashed(path: string): string {
  return path.replaceAll('\\', '/')
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

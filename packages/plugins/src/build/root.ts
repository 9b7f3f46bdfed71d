/**
 * Paths inside the project, kept relative to it, so that another checkout finds the same entries. In what is kept a mark
 * stands for the root, in fields that are known to hold paths. A root that is named anywhere else, as in code, binds the
 * entry to that root: code is counted by source maps, and who knows what else is made of it.
 */
import { dirname, resolve } from 'node:path'
import { isPlain } from './digest.ts'
import { Uncacheable } from './uncacheable.ts'

const MARK = '<varve:root>'
/** The same in a path with the separators of Windows. */
const WINDOWS_MARK = '<varve:root\\>'
const ANY_MARK = '<varve:root'

/** How a path may begin, and what stands for it. */
interface Spelling {
  readonly start: string
  readonly mark: string
  readonly pattern: RegExp
}

/** Fields that hold paths, or messages for people. */
const FIELDS: ReadonlySet<string> = new Set(
  (
    'path paths id ids importer exporter file sources sourceRoot implicitlyLoadedAfterOneOf ' +
    'resolveDir watchFiles watchDirs files folders missing message text frame stack'
  ).split(' '),
)

/** The field that names places for people only: tools and loaders beside the project may stand there. */
const STACK = 'stack'

/** The folder of one project. */
export class Root {
  /** Absolute, with the separators of the platform. */
  readonly folder: string
  /** None of the top of a file system, which every path begins with. */
  readonly #marked: readonly Spelling[]
  /** How texts may spell what lies in the root or beside it. */
  readonly #spellings: readonly string[]

  constructor(folder: string) {
    this.folder = resolve(folder)
    const withSlashes = slashed(this.folder)
    const marks = new Map([[this.folder, WINDOWS_MARK], [withSlashes, MARK]])
    // A folder that only begins with the same letters is another one.
    const spelling = ([start, mark]: [string, string]): Spelling => ({ start, mark, pattern: new RegExp(`${escape(start)}(?![\\w.@+-])`, 'g') })
    this.#marked = withSlashes.endsWith('/') ? [] : Array.from(marks, spelling)
    const parent = dirname(this.folder)
    const near = slashed(parent).endsWith('/') ? this.folder : parent
    this.#spellings = [...new Set([slashed(near), near, JSON.stringify(near).slice(1, -1)])]
  }

  /** A text with the mark in place of the root. */
  toRelative(text: string): string {
    return this.#marked.reduce((changed, { start, mark, pattern }) => (changed.includes(start) ? changed.replace(pattern, mark) : changed), text)
  }

  /** Plain data with the mark in place of the root, and whether it is good for this root only. */
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

  /** What `relativeEntry` was given, in this root. */
  absoluteEntry(relative: unknown): unknown {
    return mapLeaves(relative, '', (leaf) => {
      if (typeof leaf !== 'string' || !leaf.includes(ANY_MARK)) return leaf
      // A function, since a folder may be called '$$'.
      return this.#marked.reduce((changed, { start, mark }) => changed.replaceAll(mark, () => start), leaf)
    })
  }

  #isNamedIn(leaf: string | Uint8Array): boolean {
    const text = typeof leaf === 'string' ? leaf : Buffer.from(leaf.buffer, leaf.byteOffset, leaf.byteLength)
    return this.#spellings.some((spelling) => text.includes(spelling))
  }
}

/** A copy of plain data in which every text and every bytes went through `change`, with the name of the field. */
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

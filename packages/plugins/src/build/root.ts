/**
 * Paths inside the project, kept relative to it: ids, watch files, sources of source maps and messages say the same in
 * every checkout. In what is kept, MARK stands for the root.
 */
import { dirname, resolve } from 'node:path'

const MARK = '<varve:root>'
/** For the top of a file system, which every path begins with. */
const NOTHING = /(?!)/g

/** The folder of one project. */
export class Root {
  /** Absolute, with the separators of the platform. */
  readonly folder: string
  readonly #slashed: string
  readonly #parent: string
  readonly #pattern: RegExp

  constructor(folder: string) {
    this.folder = resolve(folder)
    this.#slashed = this.folder.replaceAll('\\', '/')
    this.#parent = `${dirname(this.#slashed)}/`.replace('//', '/')
    // A folder that only begins with the same letters is another one.
    this.#pattern = this.#slashed.endsWith('/') ? NOTHING : new RegExp(`${escape(this.#slashed)}(?![\\w.@+-])`, 'g')
  }

  /** A text with the mark in place of the root. */
  toRelative(text: string): string {
    return text.includes(this.#slashed) ? text.replace(this.#pattern, MARK) : text
  }

  /** A text with the root in place of the mark. */
  toAbsolute(text: string): string {
    return text.includes(MARK) ? text.replaceAll(MARK, this.#slashed) : text
  }

  /** Whether a text names the root, in whatever spelling. */
  isIn(text: string): boolean {
    return text.includes(this.#slashed) || text.includes(this.folder) || text.includes(JSON.stringify(this.folder).slice(1, -1))
  }

  /** Whether a relative text still names the folder that holds the root: a sibling, whose place is relative to nothing. */
  isBeside(text: string): boolean {
    return this.#parent !== '/' && (text.includes(this.#parent) || text.includes(this.folder))
  }

  /** Whether a text has the mark, so that it could not be told from a root that was replaced. */
  hasMark(text: string): boolean {
    return text.includes(MARK)
  }
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

/** A copy of plain data in which every string went through `change`; bytes stay as they are. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]))
}

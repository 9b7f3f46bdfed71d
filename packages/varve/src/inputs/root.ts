/**
 * The folder that paths are relative to. What is recorded are paths relative to it with forward slashes, also `../` out of
 * it, so that a sibling folder of another worktree is that worktree's own; only what is on another drive is absolute.
 */
import type * as nodePath from 'node:path'
import { VarveError } from '../errors.ts'

/** What is used of `node:path`. */
export type Paths = Pick<typeof nodePath, 'isAbsolute' | 'relative' | 'resolve' | 'sep'>

/** Paths kept in memory with their recorded form; resolving one costs 0.5 us. */
const KNOWN_MAX = 20_000

/** One root; its paths are those of `paths`, which tests choose. */
export class Root {
  /** Absolute. */
  readonly folder: string
  readonly #paths: Paths
  readonly #prefix: string
  readonly #known: Map<string, string> = new Map()

  constructor(folder: string, paths: Paths) {
    this.folder = folder
    this.#paths = paths
    this.#prefix = this.#slashed(folder.endsWith(paths.sep) ? folder : `${folder}${paths.sep}`)
  }

  /** The recorded form of a path that is absolute or relative to the root. */
  relative(path: string): string {
    const known = this.#known.get(path)
    if (known !== undefined) return known
    const absolute = this.#paths.resolve(this.folder, path)
    const relative = this.#slashed(this.#paths.relative(this.folder, absolute))
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(path, relative)
    return relative
  }

  /**
   * Where a recorded path is, as code that reads it names it: on Windows with backslashes. The system would resolve `..` in the folder that a
   * root leads to, if it is a link.
   */
  absolute(relative: string): string {
    if (this.#paths.sep === '\\' || relative.startsWith('..')) return this.#paths.resolve(this.folder, relative)
    return this.#paths.isAbsolute(relative) ? relative : `${this.#prefix}${relative}`
  }

  /** Where a recorded path leads, as the system names it: without a separator at the end. Undefined if `relative` gives no such path. */
  resolved(relative: string): string | undefined {
    const absolute = relative === '' ? this.folder : this.absolute(relative)
    return this.relative(absolute) === relative ? absolute : undefined
  }

  /** An id whose beginning is an absolute path below the root, without that beginning; any other id as it is. */
  relativeId(id: string): string {
    const slashed = this.#slashed(id)
    return slashed.startsWith(this.#prefix) ? slashed.slice(this.#prefix.length) : id
  }

  #slashed(path: string): string {
    return this.#paths.sep === '\\' ? path.replaceAll('\\', '/') : path
  }
}

/** The root of tasks there: no path is absolute or relative to anything. */
export const NO_ROOT = '/'

function refuse(): never {
  throw new VarveError(
    'ENGINE_UNAVAILABLE',
    'files of tasks need node:fs and node:path, which this host does not have; use inputs instead',
  )
}

export const noPaths: Paths = {
  sep: '/',
  isAbsolute: (path) => path.startsWith('/'),
  relative: refuse,
  resolve: refuse,
}

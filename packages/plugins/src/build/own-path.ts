/**
 * Code that names the file of its own module, as MDX does in a development server:
 *
 *   fileName: "/checkout/src/page.mdx",
 *
 * It becomes relative only if that cannot change anything else: the path is plain, so that every literal spells it alike; it is at the
 * start of a literal; and the source map has no position on that line, because the columns behind a path depend on its length.
 */
import { hasPositions } from './source-map.ts'

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

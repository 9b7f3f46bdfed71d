/** Warnings of a cache, each kind told once: a failure of it costs misses and a warning, never the build. */
import type { VarveError } from 'varve'

/** Says a warning through the tool's own logger. */
export type Warn = (text: string) => void

/** What was told already. */
export class Warnings {
  readonly #tell: Warn
  readonly #told: Set<string> = new Set()

  constructor(tell: Warn) {
    this.#tell = tell
  }

  /** Something went wrong: `problem` goes on after 'the cache'. */
  failed(problem: string, error: unknown): void {
    this.#once(problem, `the cache ${problem}: ${error instanceof Error ? error.message : String(error)}`)
  }

  /** What the cache says by itself: an `onWarning` of `openCache`. */
  readonly heard = ({ code, message }: VarveError): void => this.#once(code, message)

  #once(kind: string, text: string): void {
    if (this.#told.has(kind)) return
    this.#told.add(kind)
    this.#tell(text)
  }
}

/** Warnings of a cache. Each kind is reported once. A failure costs misses and a warning; it never fails a build. */
import type { VarveError } from 'varve'

/** Reports a warning through the tool's own logger. */
export type Warn = (text: string) => void

/** Reports each kind of warning once. */
export class Warnings {
  readonly #warn: Warn
  readonly #reported: Set<string> = new Set()

  constructor(warn: Warn) {
    this.#warn = warn
  }

  /** Reports a failure. `problem` continues the words 'the cache'. */
  failed(problem: string, error: unknown): void {
    this.once(problem, `the cache ${problem}: ${error instanceof Error ? error.message : String(error)}`)
  }

  /** Reports a warning of the engine: an `onWarning` of `openCache`. */
  readonly report = ({ code, message }: VarveError): void => this.once(code, message)

  /** Reports a warning of this kind once. */
  once(kind: string, text: string): void {
    if (this.#reported.has(kind)) return
    this.#reported.add(kind)
    this.#warn(text)
  }
}

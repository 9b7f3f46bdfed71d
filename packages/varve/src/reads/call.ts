/** One call of a scope: what it reads, apart from the file that it is about and the files that it declares, counts for the scope. */
import type { ReadKind } from './kinds.ts'
import { type Installation, type Opaque, outerSink, recorded, type Sink } from './sink.ts'

/** The scope of a call. */
export interface CallScope extends Sink {
  /** Looks at a path before it is read. The key of the read, undefined if it does not count. */
  look(kind: ReadKind, path: string): string | undefined
  /** What a call read counts. */
  count(keys: Iterable<string>): void
}

/** The reads of one call. Work of another scope around it depends on them, too. */
export class ReadCall implements Sink {
  readonly #scope: CallScope
  readonly #installation: Installation | undefined
  readonly #own: string | undefined
  readonly #keys: Set<string> = new Set()
  readonly #outer: Sink | undefined
  #isOver = false
  #hasReadOwn = false

  /** @internal */
  constructor(scope: CallScope, installed: Installation | undefined, own: string | undefined) {
    this.#scope = scope
    this.#installation = installed
    this.#own = own
    this.#outer = outerSink(installed)
  }

  /** Runs the call, or a part of it. */
  run<T>(work: () => T): T {
    return this.#installation === undefined ? work() : recorded(this.#installation, this, work)
  }

  /** The call is over and declared these files and folders, absolute. Returns whether it read its own file. */
  finish(declared: Iterable<string>): boolean {
    this.#isOver = true
    const own = new Set(declared)
    const shared = [...this.#keys].filter((key) => !own.has(key.slice(key.indexOf(' ') + 1)))
    this.#keys.clear()
    this.#scope.count(shared)
    return this.#hasReadOwn
  }

  read(kind: ReadKind, path: string): void {
    this.#outer?.read(kind, path)
    if (path === this.#own) {
      this.#hasReadOwn ||= kind === 'content' || kind === 'module'
      return
    }
    const key = this.#scope.look(kind, path)
    if (key === undefined) return
    if (this.#isOver) this.#scope.count([key])
    else this.#keys.add(key)
  }

  wrote(path: string): void {
    this.#outer?.wrote(path)
    this.#scope.wrote(path)
  }

  variable(name: string, isListed: boolean): void {
    this.#outer?.variable(name, isListed)
    this.#scope.variable(name, isListed)
  }

  variables(prefix: string): void {
    this.#outer?.variables(prefix)
    this.#scope.variables(prefix)
  }

  changedVariable(name: string): void {
    this.#outer?.changedVariable(name)
    this.#scope.changedVariable(name)
  }

  opaque(event: Opaque): void {
    this.#outer?.opaque(event)
    this.#scope.opaque(event)
  }
}

/**
 * One call of a scope. What it reads counts for the scope, apart from the file that it is about and the files that it declares. What it
 * writes, a result from the cache would not write, so a call that leaves files behind has no result to store.
 */
import type { ReadKind } from '../inputs/input.ts'
import { CallWrites, type Kept } from './counted.ts'
import { type Installation, type Opaque, outerSink, recorded, type Sink } from './sink.ts'

/** The file that a call is about. */
export interface OwnFile {
  /** Absolute. */
  readonly path: string
  /** Whether the call is given the content, so that it need not read the file; undefined if that is not known. */
  readonly isGiven?: boolean | undefined
}

/** The scope of a call. */
export interface CallScope extends Sink {
  /** Looks at a path before it is read. The key of the read, undefined if it does not count. */
  look(kind: ReadKind, path: string): string | undefined
  /** A path is about to be written or removed; `isForResult`: by a call that has a result. */
  wrote(path: string, isRemoval?: boolean, isForResult?: boolean): void
  /** What a call read counts. */
  count(keys: Iterable<string>): void
  /** What is at a path now; undefined for one where the project keeps nothing: caches and temporary files. */
  lookAtKept(path: string): Kept | undefined
  /** A call is over that is about this file. `reads`: how often it read the file; `key`: that of the read. */
  noteOwn(own: OwnFile, reads: number, key: string | undefined): void
  /** A call wrote a file after its result was made. */
  wroteLate(path: string): void
  /** A call is over: a file that it left. It may not have waited for what it wrote, so one that left nothing so far is judged again. */
  judge(writes: CallWrites): string | undefined
}

/** How a call ended. */
export interface CallEnd {
  /** Whether it read the file that it is about. */
  readonly hasReadOwn: boolean
  /** A file that it wrote or removed, absolute. */
  readonly written: string | undefined
}

/** The reads of one call. Work of another scope around it depends on them, too. */
export class ReadCall implements Sink {
  readonly #scope: CallScope
  readonly #installation: Installation | undefined
  readonly #own: OwnFile | undefined
  readonly #hasResult: boolean
  readonly #keys: Set<string> = new Set()
  readonly #writes: CallWrites
  readonly #outer: Sink | undefined
  #isOver = false
  #ownReads = 0
  #ownKey: string | undefined

  /** @internal */
  constructor(scope: CallScope, installed: Installation | undefined, own: OwnFile | undefined, hasResult: boolean) {
    this.#scope = scope
    this.#installation = installed
    this.#own = own
    this.#hasResult = hasResult
    this.#writes = new CallWrites((path) => scope.lookAtKept(path))
    this.#outer = outerSink(installed)
    if (!hasResult) this.#isOver = true
  }

  /** Runs the call, or a part of it. */
  run<T>(work: () => T): T {
    return this.#installation === undefined ? work() : recorded(this.#installation, this, work)
  }

  /** The call is over and declared these files and folders, absolute. */
  finish(declared: Iterable<string>): CallEnd {
    this.#isOver = true
    const own = new Set(declared)
    const shared = [...this.#keys].filter((key) => !own.has(key.slice(key.indexOf(' ') + 1)))
    this.#keys.clear()
    this.#scope.count(shared)
    if (this.#own !== undefined) this.#scope.noteOwn(this.#own, this.#ownReads, this.#ownKey)
    return { hasReadOwn: this.#ownReads > 0, written: this.#scope.judge(this.#writes) }
  }

  read(kind: ReadKind, path: string, isSize = false): void {
    this.#outer?.read(kind, path, isSize)
    if (path === this.#own?.path) {
      if (isSize || (kind !== 'content' && kind !== 'module')) return
      this.#ownReads += 1
      if (this.#hasResult) this.#ownKey ??= this.#scope.look('content', path)
      return
    }
    const key = this.#scope.look(kind, path)
    if (key === undefined) return
    if (this.#isOver) this.#scope.count([key])
    else this.#keys.add(key)
  }

  wrote(path: string, isRemoval?: boolean): void {
    this.#outer?.wrote(path, isRemoval)
    if (this.#hasResult && this.#writes.add(path) && this.#isOver) this.#scope.wroteLate(path)
    this.#scope.wrote(path, isRemoval, this.#hasResult)
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

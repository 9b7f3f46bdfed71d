/** The context of running work: collects the dependencies of its result. */
import { digestOf, digestOfFile, digestOfVariable } from '../inputs/digest.ts'
import { UNREADABLE } from '../inputs/input.ts'
import { isFolder, Observed } from '../inputs/observed.ts'
import type { Comparison } from '../inputs/set.ts'
import { isYoungAt, NO_STAMP } from '../inputs/stamp.ts'
import type { Root } from '../inputs/root.ts'
import { describe } from '../checks/options.ts'
import { VarveError } from '../errors.ts'
import { isAmount } from '../history/tally.ts'
import { variable } from '../host/permission.ts'
import type { Asked } from './request.ts'
import { type RecordedFile, sorted, type Variant } from './record.ts'
import type { TaskContext } from './options.ts'
import { type Sink, outerSink } from '../reads/sink.ts'
import { isBytes } from '../values/bytes.ts'

/** What is known once the work is done. */
export type Outcome =
  /** All that the result depends on, to be stored with it. */
  | { readonly kind: 'storable'; readonly recorded: Pick<Variant, 'added' | 'env' | 'files'> }
  /** A file or a variable changed while it ran, so what the result depends on is unknown. */
  | { readonly kind: 'changed' }
  /** The work wrote this file, absolute. */
  | { readonly kind: 'written'; readonly path: string }
  /** The work called `skipStore`. */
  | { readonly kind: 'skipped' }
  /** The content of a file cannot be determined. */
  | { readonly kind: 'unreadable' }

/**
 * How the content of a file came to be known: the work declared it, or it was looked at, before the work began or while it ran. A file
 * that was looked at while it ran may have changed between the read and the look, unless it is older than the run.
 */
type Seen =
  | { readonly by: 'work'; readonly record: RecordedFile }
  | { readonly by: 'before' | 'while'; readonly look: Observed }

/** What a declared path may be an input as. */
const KINDS = ['content', 'list'] as const

/** What is known of a run before its work begins. */
export interface RecordingFacts extends Pick<TaskContext, 'reason' | 'why'> {
  /** Whether inputs that the work adds can be found again. */
  readonly canFind: boolean
}

/** One run of the work. */
export class Recording implements TaskContext {
  readonly #present: Comparison
  readonly #root: Root
  readonly reason: string
  readonly why: string
  readonly #canFind: boolean
  readonly #files: Map<string, Seen> = new Map()
  readonly #added: Map<string, string> = new Map()
  readonly #env: Map<string, string> = new Map()
  #workMs = 0
  #isSkipped = false
  #written: string | undefined
  #isOver = false

  /** Looks at the files that were asked for, before the work begins. */
  constructor(asked: Asked, present: Comparison, root: Root, { reason, why, canFind }: RecordingFacts) {
    this.reason = reason
    this.why = why
    this.#present = present
    this.#root = root
    this.#canFind = canFind
    for (const path of asked.files) this.#files.set(path, { look: this.#lookAt(path), by: 'before' })
    for (const name of asked.env) this.#env.set(name, this.#digestOf(name))
  }

  addFile(path: string, content?: string | Uint8Array): void {
    this.#checkName('addFile', 'the path of a file', path)
    if (content !== undefined && typeof content !== 'string' && !isBytes(content)) {
      throw new VarveError(
        'INVALID_ARGUMENT',
        `the content that ctx.addFile() takes is a string or a Uint8Array, not ${describe(content)}`,
      )
    }
    const relative = this.#root.relative(path)
    if (content !== undefined) {
      const digest = digestOfFile(relative, typeof content === 'string' ? Buffer.from(content) : content)
      this.#files.set(relative, { record: [relative, digest, ...NO_STAMP], by: 'work' })
    } else if (!this.#files.has(relative)) {
      const by = KINDS.some((kind) => this.#present.hasSettled(kind, relative)) ? 'before' : 'while'
      this.#files.set(relative, { look: this.#lookAt(relative), by })
    }
  }

  addInput(name: string, value: unknown): void {
    this.#checkName('addInput', 'the name of an input', name)
    if (!this.#canFind) {
      const message = `ctx.addInput('${name}') needs the option 'findInput' of the task, without which the next run could not detect a change`
      throw new VarveError('INVALID_ARGUMENT', message)
    }
    this.#added.set(name, digestOf(value, name))
  }

  addEnv(name: string): string | undefined {
    this.#checkName('addEnv', 'the name of a variable', name)
    this.#env.set(name, this.#digestOf(name))
    return variable(name)
  }

  addWorkMs(ms: number): void {
    this.#checkRunning('addWorkMs')
    if (!isAmount(ms))
      throw new VarveError(
        'INVALID_ARGUMENT',
        `ctx.addWorkMs() takes milliseconds, a number from 0, not ${describe(ms)}`,
      )
    this.#workMs += ms
  }

  /** Milliseconds that were added. */
  get workMs(): number {
    return this.#workMs
  }

  skipStore(): void {
    this.#checkRunning('skipStore')
    this.#isSkipped = true
  }

  /** The work wrote this file, absolute, which a result from the cache would not do. */
  refuseWritten(path: string): void {
    this.#written = path
  }

  /** The files declared so far, relative to the root. */
  get declared(): readonly string[] {
    return [...this.#files.keys()]
  }

  /** Passes what the work declared on to the work around. */
  forward(outer: Sink): void {
    for (const path of this.#files.keys()) outer.read('content', this.#root.absolute(path))
    for (const name of this.#env.keys()) outer.variable(name, false)
  }

  /** To be called once the work is done. */
  finish(): Outcome {
    this.#isOver = true
    return this.#outcome()
  }

  #outcome(): Outcome {
    if (this.#isSkipped) return { kind: 'skipped' }
    if (this.#written !== undefined) return { kind: 'written', path: this.#written }
    for (const [name, digest] of this.#env) if (digestOfVariable(name) !== digest) return { kind: 'changed' }
    const files: RecordedFile[] = []
    for (const [path, seen] of this.#files) {
      if (seen.by === 'work') {
        files.push(seen.record)
        continue
      }
      if (seen.by === 'while' && isYoungAt(seen.look.look, this.#present.startMs)) return { kind: 'changed' }
      const found = seen.look.seal(this.#present.disk)
      if (found === undefined) return { kind: 'changed' }
      if (found.digest === UNREADABLE) return { kind: 'unreadable' }
      files.push([path, found.digest, ...found.stamp])
    }
    return { kind: 'storable', recorded: { added: sorted(this.#added), env: sorted(this.#env), files } }
  }

  /** A file that the work depends on, and so does the work around it. Of a directory, the names in it count. */
  #lookAt(path: string): Observed {
    outerSink()?.read('content', this.#root.absolute(path))
    const known = KINDS.find((kind) => this.#present.hasSettled(kind, path))
    if (known !== undefined) return this.#present.observe(known, path)
    const look = Observed.settled(this.#present.disk, 'content', this.#root.absolute(path))
    return look.look !== undefined && isFolder(look.look)
      ? Observed.settled(this.#present.disk, 'list', look.path)
      : look
  }

  /** A variable, likewise. */
  #digestOf(name: string): string {
    outerSink()?.variable(name, false)
    return this.#present.now('env', name)
  }

  #checkRunning(call: string): void {
    if (this.#isOver)
      throw new VarveError('INVALID_ARGUMENT', `ctx.${call}() came after the work was done; await what calls it`)
  }

  #checkName(call: string, expected: string, given: unknown): void {
    this.#checkRunning(call)
    if (typeof given !== 'string')
      throw new VarveError('INVALID_ARGUMENT', `ctx.${call}() takes ${expected}, not ${describe(given)}`)
  }
}

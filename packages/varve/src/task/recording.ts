/** The context of running work: collects the dependencies of its result. */
import { describe } from '../checks/validate.ts'
import { VarveError } from '../errors.ts'
import { isAmount } from '../history/counts.ts'
import { variable } from '../host/permission.ts'
import { digestOf, digestOfFile, digestOfVariable } from '../inputs/digest.ts'
import { type RecordedFile } from '../inputs/files.ts'
import { NO_STAMP } from '../inputs/stamp.ts'
import type { Asked } from './lookup.ts'
import { sorted } from './named.ts'
import type { TaskContext } from './options.ts'
import type { Present } from './present.ts'
import type { Variant } from './record.ts'
import type { Root } from '../inputs/root.ts'
import { outerSink, type Sink } from '../reads/sink.ts'
import { isBytes } from '../values/bytes.ts'

/** What is known once the work is done. */
export type Outcome =
  /** All that the result depends on, to be stored with it. */
  | { readonly kind: 'storable'; readonly recorded: Pick<Variant, 'added' | 'env' | 'files'> }
  /** A file or a variable changed meanwhile, so what the result depends on is unknown. */
  | { readonly kind: 'changed' }
  /** The work wrote this file, absolute. */
  | { readonly kind: 'written'; readonly path: string }
  /** The work called `skipStore`. */
  | { readonly kind: 'skipped' }
  /** The content of a file cannot be determined. */
  | { readonly kind: 'unreadable' }

/** How the content of a file came to be known. */
interface Seen {
  readonly record: RecordedFile | undefined
  /** Whether it was examined before the work began, while it ran, or declared by the work. */
  readonly by: 'before' | 'while' | 'reported'
}

/** What is known of a run before its work begins. */
export interface RecordingFacts extends Pick<TaskContext, 'reason' | 'why'> {
  /** Whether inputs that the work adds can be found again. */
  readonly canFind: boolean
}

/** One run of the work. */
export class Recording implements TaskContext {
  readonly #present: Present
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
  constructor(asked: Asked, present: Present, root: Root, { reason, why, canFind }: RecordingFacts) {
    this.reason = reason
    this.why = why
    this.#present = present
    this.#root = root
    this.#canFind = canFind
    for (const path of asked.files) this.#files.set(path, { record: this.#recordOf(path), by: 'before' })
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
      this.#files.set(relative, { record: [relative, digest, ...NO_STAMP], by: 'reported' })
    } else if (!this.#files.has(relative)) {
      const by = this.#present.files.hasSeen(relative) ? 'before' : 'while'
      this.#files.set(relative, { record: this.#recordOf(relative), by })
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
    for (const [path, { record, by }] of this.#files) {
      if (record === undefined) return { kind: 'unreadable' }
      // A file that was not examined before may have changed between the read and this call.
      if (by !== 'reported' && this.#present.files.hasChanged(path)) return { kind: 'changed' }
      if (by === 'while' && this.#present.files.isYoung(path)) return { kind: 'changed' }
      files.push(record)
    }
    return { kind: 'storable', recorded: { added: sorted(this.#added), env: sorted(this.#env), files } }
  }

  /** A file that the work depends on, and so does the work around it. */
  #recordOf(path: string): RecordedFile | undefined {
    outerSink()?.read('content', this.#root.absolute(path))
    return this.#present.files.record(path)
  }

  /** A variable, likewise. */
  #digestOf(name: string): string {
    outerSink()?.variable(name, false)
    return this.#present.env(name)
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

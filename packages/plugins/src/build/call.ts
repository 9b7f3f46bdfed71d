/** What a tool describes for the cache, the plugin that makes calls and each of its calls, and in words why a call was a miss. */
import type { ReadCall } from 'varve/reads'
import { EXPLAINED, type Identity, identityParts } from './identity.ts'
import type { OwnPath, Root } from './root.ts'
import type { Parts } from './digest.ts'
import type { Shape } from './pack.ts'
import { relative } from 'node:path'
import type { TaskContext, TaskRequest } from 'varve'
import type { CachedOptions } from './options.ts'
import type { Session } from './session.ts'

/** The parts of an input, if there are any; `key` distinguishes inputs of one name. */
export type InputParts = (
  input: string,
  root: Root,
) => { readonly key: string; readonly parts: () => Parts } | undefined

/** The plugin that makes the calls, as known when a build begins. */
export interface Caller {
  /** Name of the tool, and of the cache. */
  readonly tool: string
  /** Name of the plugin, for messages and for `varve why`. */
  readonly name: string
  /** The project directory. */
  readonly root: string
  /** Replaces the plugin's options if the user passed none; undefined if the tool has no replacement. */
  keyOf(root: Root): string | undefined
  /** Named inputs of all calls, in addition to those of the options. */
  readonly inputs: Identity
  /** The parts of inputs that are digests of several things, by input. They take precedence over those of the options. */
  readonly parts?: InputParts | undefined
  /** Local files whose code, with everything they import, makes up the plugin. */
  readonly modules: readonly string[]
  /** Why nothing of the plugin may be stored; undefined if its results may be. */
  readonly refusal?: string | undefined
  /** Prints a line through the tool's own logger. */
  info(text: string): void
  /** Whether the tool is a development server, which calls the plugin until it is closed. */
  readonly isServer?: boolean | undefined
}

/** One call with the result `R`, stored as an entry `E`. */
export interface Call<R, E> {
  /** The kind of call. All calls of one kind belong to one task. */
  readonly kind: string
  /** The subject of the call, with absolute paths. Most calls differ in it. */
  readonly id: string
  readonly inputs: Readonly<Record<string, unknown>>
  /** The parts of these inputs, likewise. */
  readonly parts?: InputParts | undefined
  /** Files that the result depends on, known before the call. */
  readonly files: readonly string[]
  /** Absolute path of the file that the call processes. Reading it makes it an input of this call only. */
  readonly about?: string | undefined
  /** Whether the call is given the content of that file. */
  readonly isGiven?: boolean | undefined
  /** Reads of the call before `work`. */
  readonly reads?: ReadCall | undefined
  /** Runs the call. */
  work(): Promise<R>
  /** What to store; undefined for nothing. Throws Uncacheable if the call cannot be replayed. */
  keep(result: R): CallResult | undefined
  /** The shape of an entry that can be replayed. A result of another shape is not stored; a stored value of another shape is a miss. */
  readonly shape: Shape<E>
  /** Whether a replay of this entry would do all that the call would do now; if not, the call runs. All entries are accepted without it. */
  accepts?(entry: E): boolean
  /** Repeats the call's effects on the tool and returns its result. Steps that may throw come before steps with an effect. */
  replay(entry: E): R
}

/** What is stored of a call. */
export interface CallResult {
  /** The entry, as plain data. */
  readonly entry: unknown
  /** Files and directories that the result depends on, found while the call ran. */
  readonly watched: readonly string[]
  /** Milliseconds that the result cost before the call, if the tool did the work outside of it. */
  readonly workMs?: number | undefined
  /** Whether the result is valid for this root only, whatever it names. */
  readonly isBound?: boolean | undefined
  /** The path that the code in the entry may name, if that is allowed. */
  readonly own?: OwnPath | undefined
}

/** What the words of a call are made from. */
export interface CallFacts {
  readonly root: Root
  readonly session: Session
  /** The parts of the inputs that all calls of the plugin share. */
  readonly partsOf: InputParts
}

type CallSubject = Pick<Call<unknown, unknown>, 'id' | 'about' | 'parts' | 'inputs'>

/** The parts of the inputs that all calls of a plugin share. */
export function sharedParts(caller: Caller, options: CachedOptions, root: Root): InputParts {
  const own = identityParts(options, root)
  return (input) => {
    const parts = own[input]
    return (
      caller.parts?.(input, root) ?? (parts && { key: input === 'packages' ? input : `${input} ${caller.name}`, parts })
    )
  }
}

/** Words for an input of a call that has changed; undefined for the words of the task. */
export function explainer(
  call: CallSubject,
  { root, session, partsOf }: CallFacts,
): NonNullable<TaskRequest['explain']> {
  return (input, before, after) => {
    if (input === 'code') return `${relative(root.folder, call.about ?? call.id).replaceAll('\\', '/')} changed`
    if (before !== undefined && after !== undefined) return `${input.replace(/^env /, '')} ${before} -> ${after}`
    const known = call.parts?.(input, root) ?? partsOf(input, root)
    return known && session.explanations?.words(known.key, known.parts)
  }
}

/** Called with a call whose result is stored: the next build compares with the parts of its inputs. */
export function noteParts({ inputs, parts }: CallSubject, { root, session, partsOf }: CallFacts): void {
  for (const input of [...EXPLAINED, ...Object.keys(inputs)]) {
    const known = parts?.(input, root) ?? partsOf(input, root)
    if (known !== undefined) session.explanations?.note(known.key, known.parts)
  }
}

/** The reason of a miss for the record of the build, which has the words of inputs and variables: all modules have the same. */
export function reasonOf({ reason, why }: TaskContext): string {
  if (reason === 'input code') return 'file'
  return /^(?:input|env) /.test(reason) ? `changed ${why.replace(/ changed$/, '')}` : reason
}

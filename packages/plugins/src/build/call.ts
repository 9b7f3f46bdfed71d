/** What a tool describes for the cache: the plugin that makes calls, and each of its calls. */
import type { ReadCall } from 'varve/reads'
import type { Identity } from './identity.ts'
import type { OwnPath } from './own-path.ts'
import type { Parts } from './parts.ts'
import type { Root } from './root.ts'
import type { Shape } from './shape.ts'

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
  keep(result: R): Kept | undefined
  /** The shape of an entry that can be replayed. A result of another shape is not stored; a stored value of another shape is a miss. */
  readonly shape: Shape<E>
  /** Whether a replay of this entry would do all that the call would do now; if not, the call runs. All entries are accepted without it. */
  accepts?(entry: E): boolean
  /** Repeats the call's effects on the tool and returns its result. Steps that may throw come before steps with an effect. */
  replay(entry: E): R
}

/** What is stored of a call. */
export interface Kept {
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

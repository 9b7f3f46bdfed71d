/** What callers say about tasks and their runs, with defaults and what each costs. */
import type { CodecName } from '../values/codec.ts'
import type { ReadScope } from '../reads/scope.ts'

/** Options of `cache.task`. */
export interface TaskOptions {
  /**
   * Version of the code that does the work. A change drops this task's entries, not the cache.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * How results become bytes; see `NamespaceOptions.codec`. A run whose result the codec cannot hold rejects with
   * INVALID_ARGUMENT: a hit would give back something else, such as `{}` for a Map with `'json'`.
   * @defaultValue `'json'`
   */
  readonly codec?: CodecName | undefined
  /**
   * Folder that paths are relative to, so that a moved checkout or another worktree hits. Choose the folder that holds
   * everything the task reads: in a monorepo that of the workspace.
   * @defaultValue the folder of the nearest package.json, upward of the working directory; else the working directory
   */
  readonly root?: string | undefined
  /**
   * Inputs that are the same for every run, such as the configuration: hashed once, here, and named in `why` like any
   * other.
   * @defaultValue `{}`
   */
  readonly inputs?: TaskInputs | undefined
  /**
   * Results kept per id, so that switching between branches hits. Those not used for longest go first. Each costs its
   * bytes on disk, and a hit reads the list of all of them, about 1 us each.
   * @defaultValue `4`
   */
  readonly variants?: number | undefined
  /**
   * Finds the present value of an input that a run added with `ctx.addInput`, by its name, before the result of that run
   * is used again; `id` is relative to the root. A run whose result depends on no such input never calls it. Where it throws, the entry is a miss.
   * @defaultValue none: `ctx.addInput` is refused
   */
  readonly findInput?: ((name: string, id: string) => unknown) | undefined
  /**
   * Records what the work reads through `node:fs`, `require` and `process.env`: inputs of all results of this task, checked
   * before one is used again. The exceptions are the file that a run is about and those that it declares, which are inputs
   * of that run's result only. Work that starts a process or a worker, or loads an addon, is not stored: its reads cannot be
   * seen. A scope of `varve/reads` shares what is recorded between tasks.
   * Costs about 1 us for each read, and 1 us for each file when results are used again.
   * @defaultValue `false`
   */
  readonly trackReads?: boolean | ReadScope | undefined
}

/**
 * Named inputs: strings, Uint8Arrays, or what JSON can hold; the order of an object's keys does not count. Anything
 * else (functions, regular expressions, class instances without `toJSON`) is refused: its JSON would not tell it apart.
 */
export type TaskInputs = Readonly<Record<string, unknown>>

/** What a result depends on, known before the work is done. */
export interface TaskDependencies {
  /** Named inputs, each hashed on its own: about 0.3 us, and 1 us per 2 KB. */
  readonly inputs?: TaskInputs | undefined
  /**
   * Files, relative to the root or absolute. A folder counts as the list of the names in it, not what is in the files.
   * One that is missing counts as missing: the entry is no longer used once it is there. About 1 us each for a hit.
   */
  readonly files?: readonly string[] | undefined
  /** Names of environment variables. */
  readonly env?: readonly string[] | undefined
}

/** What `task.run` is to do. */
export interface TaskRequest extends TaskDependencies {
  /**
   * What is worked on, such as the path of a module. An absolute path below the root counts as the path relative to it.
   */
  readonly id: string
  /**
   * Checks a stored result before it is used: where it returns false or throws, the work runs and its result takes the place
   * of the stored one. For callers that hand results to code which does not expect just anything. Costs its own time per hit.
   * @defaultValue none: a result is used as its codec decodes it
   */
  readonly accept?: ((result: unknown) => boolean) | undefined
  /**
   * The file that the run is about, for tasks that track reads: reading it makes it an input of this result only.
   * @defaultValue the id, as a path below the root
   */
  readonly about?: string | undefined
}

/** What the work may tell while it runs. */
export interface TaskContext {
  /**
   * The result depends on this file too, whether or not it is there; the path is absolute or relative to the root. Give the
   * `content` that was read where you have it: then nothing can change between reading and telling. Without, a file that
   * changed since 20 ms before the run began means that the result is not stored.
   */
  addFile(path: string, content?: string | Uint8Array): void
  /** The result depends on this value too. Needs the option `findInput`. */
  addInput(name: string, value: unknown): void
  /** The result depends on this environment variable too. Returns its value. */
  addEnv(name: string): string | undefined
  /** The result is good for this run only: it is returned and not stored. */
  skipStore(): void
}

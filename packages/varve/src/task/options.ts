/** Options of tasks and their runs, with defaults and costs. */
import type { CodecName } from '../values/codec.ts'
import type { ReadScope } from '../reads/scope.ts'

/** Options of `cache.task`. */
export interface TaskOptions {
  /**
   * Version of the code that does the work. A change invalidates the entries of this task, not the cache.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * How results become bytes; see `NamespaceOptions.codec`. A run rejects with INVALID_ARGUMENT if the codec would change
   * its result, such as a Map with `'json'`, which a hit would return as `{}`.
   * @defaultValue `'json'`
   */
  readonly codec?: CodecName | undefined
  /**
   * Directory that paths are relative to, so that a moved checkout or another worktree hits. Choose the directory that
   * contains everything the task reads: in a monorepo, that of the workspace.
   * @defaultValue the directory of the nearest package.json above the working directory, otherwise the working directory
   */
  readonly root?: string | undefined
  /**
   * Inputs that are the same for every run, such as the configuration. They are hashed once, and `why` names them like
   * other inputs.
   * @defaultValue `{}`
   */
  readonly inputs?: TaskInputs | undefined
  /**
   * Files that every run depends on, such as a configuration that the work reads, like `files` of a request. Each is compared in every run,
   * which costs about 1 us in a hit.
   * @defaultValue `[]`
   */
  readonly sharedFiles?: readonly string[] | undefined
  /**
   * Names of installed packages that the work uses, for example `['marked']`, as code in the root finds them when the task is made: its
   * `package.json` and where its link leads are inputs of every run. Of a package that is a link into a project, all files are, which
   * costs reading them. `cache.task` throws INVALID_OPTION if one is not installed.
   * @defaultValue `[]`
   */
  readonly packages?: readonly string[] | undefined
  /**
   * Number of results kept for each id, so that switching between branches hits. The least recently used are removed first.
   * Each costs its bytes on disk, and about 1 us in every hit of its id.
   * @defaultValue `4`
   */
  readonly variants?: number | undefined
  /**
   * Returns the present value of an input that a run added with `ctx.addInput`, by its name, before the result of that run
   * is used again; `id` is relative to the root. It is called only for results with such inputs. If it throws, the entry is
   * a miss.
   * @defaultValue none: `ctx.addInput` is refused
   */
  readonly findInput?: ((name: string, id: string) => unknown) | undefined
  /**
   * Records what the work reads through `node:fs`, `require` and `process.env` as inputs of all results of this task, and
   * checks them before a result is used again. The file that a run is about, and files that it declares, are inputs of that
   * result only. Results of work that starts a process or a worker, or loads an addon, are not stored, because Varve cannot
   * see what those read. A scope of `varve/reads` shares recorded reads between tasks. Costs about 1 us for each read, and
   * 1 us for each file when results are used again.
   * @defaultValue `false`
   */
  readonly trackReads?: boolean | ReadScope | undefined
  /**
   * For tasks that track reads: `'shared'` makes the file that each run is about an input of all results, for work that keeps such files
   * in memory and uses them in other runs, such as a linter that follows imports. An edit of any of them is a miss for all.
   * @defaultValue shared once a run reads the file of another one, reads its own more than once, or does without reading its own
   */
  readonly ownFiles?: 'shared' | undefined
  /**
   * Packages whose processes, worker threads and native addons read nothing that decides results, for example `['nx']`. Results of
   * work that uses these are stored, although Varve cannot see what they read.
   * @defaultValue `[]`
   */
  readonly trust?: readonly string[] | undefined
}

/**
 * Named inputs: strings, Uint8Arrays, or what JSON can represent; the order of an object's keys does not count. Other values
 * (functions, regular expressions, class instances without `toJSON`) are refused, because their JSON does not identify them.
 */
export type TaskInputs = Readonly<Record<string, unknown>>

/** Dependencies of a result that are known before the work runs. */
export interface TaskDependencies {
  /** Named inputs, each hashed on its own: about 0.3 us, and 1 us for each 2 KB. */
  readonly inputs?: TaskInputs | undefined
  /**
   * Files, relative to the root or absolute. For a directory, the list of the names in it counts. A missing file counts as
   * missing: once it exists, the entry is no longer used. Costs about 1 us each in a hit.
   */
  readonly files?: readonly string[] | undefined
  /** Names of environment variables. */
  readonly env?: readonly string[] | undefined
}

/** A request for `task.run`. */
export interface TaskRequest extends TaskDependencies {
  /**
   * What the run works on, such as the path of a module. An absolute path below the root stands for its relative path.
   */
  readonly id: string
  /**
   * Checks a stored result before it is used. If it returns false or throws, the work runs and its result replaces the
   * stored one. It protects code that expects results of a certain shape, and costs its own time in each hit.
   * @defaultValue none: a result is used as its codec decodes it
   */
  readonly accept?: ((result: unknown) => boolean) | undefined
  /**
   * The file that the run is about, for tasks that track reads: it is an input of this result only.
   * @defaultValue the id, as a path below the root
   */
  readonly about?: string | undefined
  /**
   * Whether the work is given the content of that file as an input. Work that reads the file all the same has another reader in it, which
   * may keep it for other runs; see `ownFiles`.
   * @defaultValue `false`
   */
  readonly isGiven?: boolean | undefined
  /**
   * Called if the work has to run, for each input that differs from the nearest stored result, with both values if they are short.
   * Returns a phrase for `varve why`, such as `'babel 7.1.0 -> 7.2.0'` for the input `tools`, whose digest explains less.
   * @defaultValue none: `'input tools changed'`
   */
  readonly explain?:
    | ((input: string, before: string | undefined, after: string | undefined) => string | undefined)
    | undefined
}

/** Words of a caller for an input that differs. */
export type Explain = NonNullable<TaskRequest['explain']>

/** Reports dependencies of the result while the work runs. */
export interface TaskContext {
  /** Why the work runs, in the words of `TaskStats.reasons`. */
  readonly reason: string
  /** Why the work runs, with names and short values, as `varve why` prints it: `'NODE_ENV development -> production'`. */
  readonly why: string
  /**
   * Adds a file, whether or not it exists, by its absolute path or its path relative to the root. Pass the `content` that
   * the work read if you have it: then the file cannot change unnoticed. Without it, the result is not stored if the file
   * changed later than 20 ms before the run began.
   */
  addFile(path: string, content?: string | Uint8Array): void
  /** Adds a value. Needs the option `findInput`. */
  addInput(name: string, value: unknown): void
  /** Adds an environment variable and returns its value. */
  addEnv(name: string): string | undefined
  /**
   * Adds milliseconds that the result cost besides this run, such as work between two calls of a tool that `startWork` measured. They
   * count as saved in each hit. Throws INVALID_ARGUMENT for anything but a number from 0.
   */
  addWorkMs(ms: number): void
  /** Returns the result from this run without storing it. */
  skipStore(): void
}

/** Makes tasks: checks their options and opens the two namespaces of each. */
import type * as nodePath from 'node:path'
import { builtin } from '../host/builtin.ts'
import { type CodecName, codecOf } from '../values/codec.ts'
import { projectDirectory } from '../health/directory.ts'
import { VarveError } from '../errors.ts'
import type { Namespace } from '../session/namespace.ts'
import { installReads } from '../reads/recorder.ts'
import { ReadScope } from '../reads/scope.ts'
import type { Session } from '../session/session.ts'
import { checkOptions, describe, type Field, type Fields, FUNCTION, oneOf, STRING, TEXTS } from '../checks/options.ts'
import { READS_PREFIX, RECORDS_PREFIX, RESULTS_PREFIX } from '../host/format.ts'
import { VARIANTS_MAX, Shelf } from './record.ts'
import type { TaskOptions } from './options.ts'
import { DEPENDENCY_FIELDS, sharedOf } from './request.ts'
import { NO_ROOT, noPaths, Root } from '../inputs/root.ts'
import { hostDisk } from '../inputs/input.ts'
import { measureClock } from '../inputs/stamp.ts'
import { Task } from './task.ts'

/** Version of the layout of the namespace with the reads of a task's work. */
const READS_LAYOUT = '1'

/** Version of the layout of records and digests; older ones never match. */
const LAYOUT = '1'

const VARIANTS_DEFAULT = 4

const VARIANTS: Field = [
  `a whole number from 1 to ${VARIANTS_MAX}`,
  (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= VARIANTS_MAX,
]
/** As in a request for a module: no path. */
const PACKAGE_NAME = /^(?:@[^\\/]+\/)?[^.\\/][^\\/]*$/
const isPackageNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every((name) => typeof name === 'string' && PACKAGE_NAME.test(name))

const FIELDS: Fields<TaskOptions> = {
  version: STRING,
  codec: oneOf('bytes', 'text', 'json', 'v8'),
  root: STRING,
  inputs: DEPENDENCY_FIELDS.inputs,
  sharedFiles: DEPENDENCY_FIELDS.files,
  packages: ["an array of names of packages, such as ['marked']", isPackageNames],
  variants: VARIANTS,
  findInput: FUNCTION,
  ownFiles: oneOf('shared'),
  trackReads: [
    'true, false or a scope of varve/reads',
    (value) => typeof value === 'boolean' || value instanceof ReadScope,
  ],
  trust: ['an array of names of packages', TEXTS[1]],
}

/** How a caller asked for a namespace, or for the task that it belongs to. */
export interface Asked {
  readonly what: string
  readonly version: string
  readonly codec: CodecName
}

/** What tasks need of their cache. */
export interface TaskHost {
  readonly session: Session
  /** Distinguishes the cache from others of this process. */
  readonly place: string
  /** `Cache.namespace` without its types; `asked` is for its error. */
  open(name: string, version: string, codec: CodecName, asked: Asked): Namespace<unknown>
  /** The folder of the cache. */
  readonly dir: string
}

/** A task of that name with these options. Throws INVALID_OPTION or INVALID_ARGUMENT. */
export function makeTask(host: TaskHost, name: string, options: TaskOptions): Task<unknown> {
  if (typeof name !== 'string' || name === '') {
    throw new VarveError('INVALID_ARGUMENT', `the name of a task is a string that is not empty, not ${describe(name)}`)
  }
  checkOptions('task()', options, FIELDS)
  const { session, place, open } = host
  const paths = builtin('node:path')
  const root =
    paths === undefined ? new Root(options.root ?? NO_ROOT, noPaths) : new Root(folderOf(options.root, paths), paths)
  const disk = builtin('node:fs')
  const readOnly = session.call((store) => store.status()).readOnly
  if (disk !== undefined && !readOnly) measureClock(disk, root.folder, host.dir)
  const scope = scopeOf(host, name, options, root)
  const codec = options.codec ?? 'json'
  const version = options.version ?? ''
  const asked = { what: `task '${name}'`, version, codec }
  const shelf = new Shelf({
    task: name,
    session,
    // Records depend on the codec of the results, so a change of the codec invalidates both namespaces.
    records: open(`${RECORDS_PREFIX}${name}`, `${version}+${LAYOUT}.${codecOf(codec).tag}`, 'json', asked),
    results: open(`${RESULTS_PREFIX}${name}`, `${version}+${LAYOUT}`, codec, asked),
    codec: codecOf<unknown>(codec),
    variants: options.variants ?? VARIANTS_DEFAULT,
    readOnly,
    scope,
  })
  return new Task({
    name,
    shelf,
    place,
    disk: hostDisk(),
    root,
    scope,
    shared: sharedOf(options, root),
    findInput: options.findInput,
    counts: session.tally.tasks,
  })
}

/** The root of the file system if there is no other: such a cache is in memory, and its tasks work. */
function folderOf(root: string | undefined, paths: typeof nodePath): string {
  try {
    return paths.resolve(root ?? projectDirectory())
  } catch {
    return paths.resolve('/')
  }
}

/** The scope of a task that tracks reads, with its place in the cache. */
function scopeOf(
  { session, open, dir }: TaskHost,
  name: string,
  { trackReads: given, ownFiles, trust }: TaskOptions,
  root: Root,
): ReadScope | undefined {
  if (given === undefined || given === false) return undefined
  if (builtin('node:fs') === undefined) {
    throw new VarveError(
      'ENGINE_UNAVAILABLE',
      `'trackReads' of task '${name}' needs node:fs, which this host does not have; use inputs instead`,
    )
  }
  installReads()
  const onOpaque = (message: string): void => session.warn(new VarveError('UNTRACKED', message), `reads ${name}`)
  const scope =
    given === true ? new ReadScope({ name, root: root.folder, notesImports: true, ownFiles, trust, onOpaque }) : given
  const asked = { what: `the reads of '${scope.name}'`, version: READS_LAYOUT, codec: 'json' } as const
  const sets = open(`${READS_PREFIX}${scope.name}`, READS_LAYOUT, 'json', asked)
  const store = {
    get: (key: string) => sets.get(key),
    put: (key: string, value: unknown) => attempt(() => sets.put(key, value)),
  }
  scope.attach(store, dir)
  session.scopes.add(scope)
  return scope
}

/** Puts; a failure is a miss next time. */
function attempt(put: () => void): void {
  try {
    put()
  } catch {
    // The put of the result reports the reason.
  }
}

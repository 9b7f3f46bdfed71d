/** What a run depends on before its work begins: what the caller requests, checked and hashed, and what all runs of the task share. */
import { BOOLEAN, FUNCTION, type Fields, STRING, TEXT, TEXTS, checkOptions, wrongValue } from '../checks/options.ts'
import { digestOf, digestOfText, digestOfFile } from '../inputs/digest.ts'
import { type Digests, type Variant, digestIn, merged, sameDigests, inputsOf, namesIn, sorted } from './record.ts'
import type { Explain, TaskDependencies, TaskRequest, TaskOptions } from './options.ts'
import type { Root } from '../inputs/root.ts'
import { Comparison, type Match } from '../inputs/set.ts'
import { VarveError } from '../errors.ts'
import { upward } from '../health/trust.ts'
import { type Disk, digestNow, hostDisk, isPlugged, namesBelow } from '../inputs/input.ts'
import { jsonOf } from '../values/json.ts'
import { PACKAGE_INPUT } from '../host/format.ts'

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Fields of TaskDependencies for `checkOptions`. */
export const DEPENDENCY_FIELDS: Fields<TaskDependencies> = {
  inputs: ['an object of named inputs', isObject],
  files: ['an array of paths', TEXTS[1]],
  env: ['an array of names of environment variables', TEXTS[1]],
}
const REQUEST_FIELDS: Fields<TaskRequest> = {
  id: TEXT,
  ...DEPENDENCY_FIELDS,
  accept: FUNCTION,
  about: STRING,
  isGiven: BOOLEAN,
  explain: FUNCTION,
}

/** Longer ids are stored as their beginning and a digest: a key has room for 65,535 bytes, of three a letter at most. */
const ID_LENGTH_MAX = 8192
const ID_LENGTH_KEPT = 256

const NONE: readonly string[] = []
const NONE_ADDED: ReadonlyMap<string, string> = new Map()

/** What a request comes to. Throws INVALID_OPTION or INVALID_ARGUMENT. */
export function askedOf(call: string, request: TaskRequest, shared: SharedDependencies, root: Root): Asked {
  checkOptions(call, request, REQUEST_FIELDS)
  if (request.id === undefined)
    throw wrongValue(`${call}: option 'id'`, undefined, 'what is worked on, such as the path of a module')
  const { id, inputs, files = NONE, env = NONE, about, isGiven, explain } = request
  return {
    key: keyOf(id, root),
    inputs: inputs === undefined ? shared.inputs : merged(inputs, shared.inputs),
    env,
    files: files.length === 0 ? shared.files : [...shared.files, ...files.map((path) => root.relative(path))],
    about,
    isGiven,
    explain,
    added: NONE_ADDED,
  }
}

/** The key of an id's record. */
export function keyOf(id: string, root: Root): string {
  const relative = root.relativeId(id)
  return relative.length <= ID_LENGTH_MAX
    ? relative
    : `${relative.slice(0, ID_LENGTH_KEPT)}... ${digestOfText(relative)}`
}

/** What a run asks for, hashed. */
export interface Asked {
  /** Key of the record. */
  readonly key: string
  readonly inputs: Digests
  /** Names. */
  readonly env: readonly string[]
  /** Recorded forms of the paths. */
  readonly files: readonly string[]
  /** The file that the run is about, if the caller named one. */
  readonly about: string | undefined
  /** Whether the work is given the content of that file. */
  readonly isGiven: boolean | undefined
  /** Digests of the inputs that earlier runs added, as far as they were found again. */
  readonly added: ReadonlyMap<string, string>
  /** The caller's words for changed inputs. */
  readonly explain: Explain | undefined
}

/** Whether `variant` may be used. Stops at the first difference, cheap comparisons first. */
export function match(variant: Variant, asked: Asked, present: Comparison): Match {
  return isAsked(variant, asked) ? present.compare(inputsOf(variant)) : 'changed'
}

/** Whether `variant` answers the request, as long as its variables and files are what they were. */
export function isAsked(variant: Variant, asked: Asked): boolean {
  if (!sameDigests(variant.inputs, asked.inputs)) return false
  for (const name of asked.env) if (digestIn(variant.env, name) === undefined) return false
  if (asked.files.length > 0) {
    const recorded = new Set(variant.files.map(([path]) => path)) // a task may ask for tens of thousands
    if (!asked.files.every((path) => recorded.has(path))) return false
  }
  return namesIn(variant.added).every((name) => digestIn(variant.added, name) === asked.added.get(name))
}

/** The digests of what `find` finds for these names; without those for which it throws. */
export async function findAdded(
  names: ReadonlySet<string>,
  id: string,
  find: (name: string, id: string) => unknown,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const name of names) {
    try {
      found.set(name, digestOf(await find(name, id), name))
    } catch {
      // An input that cannot be found is a miss; the work then reports the problem.
    }
  }
  return found
}

// What all runs of a task depend on: its inputs, files and installed packages. It is found when the task is made.

/** Dependencies of every run. */
export interface SharedDependencies {
  readonly inputs: Digests
  /** Recorded forms of the paths. */
  readonly files: readonly string[]
}

/** Throws INVALID_ARGUMENT for an input that cannot be hashed, INVALID_OPTION for a package that is not installed. */
export function sharedOf(
  { inputs = {}, sharedFiles = [], packages = [] }: TaskOptions,
  root: Root,
): SharedDependencies {
  const present = new Comparison(hostDisk(), root)
  const ofPackages = packages.map((name) => [PACKAGE_INPUT + name, digestOfPackage(present.disk, root, name)] as const)
  return { inputs: merged(inputs, sorted(new Map(ofPackages))), files: sharedFiles.map((path) => root.relative(path)) }
}

/**
 * The digest of a package as code in the folder of `root` finds it: of its manifest and of where its link leads, because two copies of one
 * version may get different dependencies. It ends with the version. A package outside of `node_modules` is a link into a project, whose
 * sources count.
 */
function digestOfPackage(disk: Disk, root: Root, name: string): string {
  const { fs: files, paths } = disk
  const manifestIn = (folder: string): string => paths.join(folder, 'node_modules', name, 'package.json')
  const plugged = isPlugged() ? digestNow(disk, 'package', manifestIn(root.folder)) : 'missing'
  if (plugged !== 'missing') return plugged
  for (const folder of upward(root.folder, files, paths)) {
    const manifest = manifestIn(folder)
    if (digestNow(disk, 'type', manifest) !== 'file') continue
    const target = digestNow(disk, 'link', paths.dirname(manifest))
    const isInstalled = target.split(paths.sep).includes('node_modules')
    const decides = jsonOf({ target: root.relative(target), sources: isInstalled ? [] : contentsBelow(disk, target) })
    // The manifest comes first, so that the digest shows its version.
    return digestOfFile(manifest, Buffer.concat([files.readFileSync(manifest), Buffer.from(decides)]))
  }
  const message = `package '${name}' of option 'packages' is not installed in '${root.folder}' or above it; install it, or remove its name`
  throw new VarveError('INVALID_OPTION', message)
}

/** The names below a folder, and the digest of each file. */
function contentsBelow(disk: Disk, folder: string): readonly string[] {
  return [...namesBelow(disk, folder)].flatMap((name) => [
    name,
    digestNow(disk, 'content', disk.paths.join(folder, name.slice(1))),
  ])
}

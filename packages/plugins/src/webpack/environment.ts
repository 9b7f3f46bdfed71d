/**
 * The environment in which entries were built: config files, loaders and everything that these import, followed as webpack
 * follows build dependencies, and what loaders and plugins read. An entry names its environment and is used only while that environment
 * is unchanged.
 *
 * The namespace has one record per environment: a set of inputs (`inputs/set.ts` of varve), the reported dependencies, and where webpack
 * found them. For each compiler it also has the newest generations of entries, each with
 * its newest environment (`identity.ts`). A build uses the newest generation whose environment is unchanged, so that
 * worktrees and branches with other configs each keep theirs. If there is none, the next generation begins. Two processes
 * that detect the same change begin the same generation.
 *
 * What an environment has outside of the root. Tools look for configs in the directories above the root, too, and another
 * checkout has other directories there:
 *
 *   looked for, and missing   /home/me/.browserslistrc   its name must be missing in every directory above the root
 *   read                      /home/me/.browserslistrc   the environment is bound to this root
 *   read                      /usr/lib/tool.js           an ordinary path, the same for every checkout
 */
import { dirname, join, relative, sep } from 'node:path'
import { type ChangedInput, sentenceOf, type StoredInput } from 'varve/internal'
import type { Compiler } from 'webpack'
import { isInstalled } from '../build/modules.ts'
import { disk } from '../host/files.ts'
import { changesOf, type Why } from './why.ts'
import {
  type FileSystemInfo,
  followAll,
  isUnchangedSince,
  type Resolution,
  resolveAsBefore,
  type Snapshot,
  takeSnapshot,
} from './dependency-files.ts'
import { type Entries, idOf, isOf } from './entries.ts'
import {
  decodeGenerations,
  encodeGenerations,
  type EntriesName,
  entriesOf,
  type Generation,
  type Identity,
  nextGeneration,
} from './identity.ts'
import { linksBeside } from './packages.ts'
import type { BuildReads } from './reads.ts'
import type { ValueCodec } from './value.ts'

/** Stands for the id of an environment in the name of the note. No id is that long. */
const NOTE = 'the last build'

/** Dependencies of a build besides its modules. */
export interface Dependencies {
  /** Build dependencies, which are followed through their imports. */
  readonly all: ReadonlySet<string>
  readonly optional: ReadonlySet<string>
  /** Keys of recorded inputs; see `reads.ts`. */
  readonly inputs: ReadonlySet<string>
}

/** The record of an environment. */
interface EnvironmentRecord {
  readonly dependencies: ReadonlySet<string>
  readonly resolveResults: Resolution['resolveResults']
  /** Snapshot of what was read to resolve the dependencies. */
  readonly resolving: Snapshot
  /** The dependencies themselves, and what loaders and plugins read without reporting it. */
  readonly set: readonly StoredInput[]
  /** Names that are missing in every directory above the root. */
  readonly above: ReadonlySet<string>
}

/** The environment of new entries. */
interface CurrentEnvironment extends Pick<EnvironmentRecord, 'dependencies' | 'set' | 'above'> {
  readonly id: string
  /** The record, and whether it is bound to this checkout: it is put again if the cache has been removed. */
  readonly bytes: Buffer
  readonly isBound: boolean
  /** The keys of all inputs, with those that are missing above this root. */
  readonly known: ReadonlySet<string>
  /** False if files that decide how dependencies resolve have changed, although the dependencies resolve as before. */
  readonly isFresh: boolean
}

/** What environments are made of. */
interface EnvironmentParts {
  readonly compiler: Compiler
  readonly records: Entries
  readonly identity: Identity
  readonly fileSystemInfo: FileSystemInfo
  readonly why: Why
  readonly codec: ValueCodec
  readonly reads: BuildReads
}

/** Environments of one compiler. */
export class Environments {
  /** From the newest compilation, which has the changes that the watcher reported. */
  fileSystemInfo: FileSystemInfo
  /** The records for `varve why`. */
  readonly why: Why
  readonly #compiler: Compiler
  readonly #records: Entries
  readonly #identity: Identity
  readonly #codec: ValueCodec
  readonly #reads: BuildReads
  /** When the first build began whose environment has not been recorded. */
  #sinceMs: number | undefined
  readonly #verdicts: Map<string, boolean | Promise<boolean>> = new Map()
  /** What has changed since the environment that was checked last: names, and words. */
  #changed: readonly string[] = []
  #words: readonly string[] = []
  #generation = 0
  #current: CurrentEnvironment | undefined
  #capturing: Promise<unknown> = Promise.resolve()

  constructor({ compiler, records, identity, fileSystemInfo, why, codec, reads }: EnvironmentParts) {
    this.#compiler = compiler
    this.#records = records
    this.#identity = identity
    this.#codec = codec
    this.#reads = reads
    this.fileSystemInfo = fileSystemInfo
    this.why = why
  }

  /** The inputs of the environment of new entries. */
  get inputs(): ReadonlySet<string> {
    return this.#current?.known ?? new Set()
  }

  /** Called when a build begins. */
  noteBuild(nowMs: number): void {
    this.#sinceMs ??= nowMs
  }

  /** Name and version of the entries of this build. */
  get entries(): EntriesName {
    return entriesOf(this.#identity, this.#generation)
  }

  /**
   * Chooses the newest generation whose environment is unchanged, or begins the next one. Returns what has changed since the
   * newest generation if none can be used: variables, and paths relative to the compiler's context.
   */
  async begin(): Promise<readonly string[]> {
    const known = this.#generations()
    const [newest] = known
    let changed: readonly string[] = []
    for (const one of known) {
      const isUsable = one.digest === this.#identity.digest
      // With another digest no entry can be used, but the newest record may have the name of what changed.
      if (!isUsable && one !== newest) continue
      this.#generation = one.generation
      const isValid = await this.isValid(one.id)
      if (isUsable && isValid) return []
      this.#current = undefined
      this.#verdicts.clear() // generations may have one environment
      if (one !== newest) continue
      changed = this.#changed
      this.why.changes = [...changesOf(one.inputs, this.#identity.digests), ...this.#words]
    }
    this.#generation = nextGeneration(known)
    return changed
  }

  /** Whether entries of this environment may be used: a promise for the first entry, then known at once. */
  isValid(id: string): boolean | Promise<boolean> {
    const known = this.#verdicts.get(id)
    if (known !== undefined) return known
    const verdict = this.#check(id).catch(() => false)
    this.#verdicts.set(id, verdict)
    void verdict.then((isValid) => this.#verdicts.set(id, isValid))
    return verdict
  }

  /** The id of an environment that is known to cover these dependencies, none of which has changed since. */
  covering({ all, inputs }: Dependencies): string | undefined {
    const current = this.#current
    const isCovered =
      current?.isFresh === true && isSubset(all, current.dependencies) && isSubset(inputs, current.known)
    return isCovered && this.#isAsRead(inputs, current.set) ? current.id : undefined
  }

  /** Whether this process has found all inputs as a set has them. */
  #isAsRead(inputs: ReadonlySet<string>, set: readonly StoredInput[]): boolean {
    const { notes } = this.#reads
    const sealed = notes.seal(inputs, set)
    if (typeof sealed === 'string') return false
    const known = new Map(set.map(([kind, name, digest]) => [`${kind} ${name}`, digest]))
    return sealed.every(([kind, name, digest]) => (known.get(`${kind} ${name}`) ?? 'missing') === digest)
  }

  /**
   * The id of an environment that covers these dependencies; records a new one if none does. Undefined if one has changed while the process
   * had it in memory: nothing describes what the results were made with. Calls run one after another.
   */
  capture(dependencies: Dependencies): Promise<string | undefined> {
    const capture = (): string | Promise<string | undefined> => {
      const sinceMs = this.#sinceMs ?? Date.now()
      this.#sinceMs = undefined
      return this.covering(dependencies) ?? this.#capture(dependencies, sinceMs)
    }
    const captured = this.#capturing.then(capture)
    this.#capturing = captured.catch(() => undefined)
    return captured
  }

  async #capture(dependencies: Dependencies, sinceMs: number): Promise<string | undefined> {
    const info = this.fileSystemInfo
    const all = new Set([...(this.#current?.dependencies ?? []), ...dependencies.all])
    const found = await followAll(this.#compiler, info, all, dependencies.optional)
    const keys = [...dependencies.inputs, ...this.#inputsIn(found, sinceMs)]
    const { notes, outdated } = this.#reads
    const set = outdated ?? notes.seal(keys, this.#current?.set)
    if (typeof set === 'string') return undefined
    const { resolveDependencies: steps, resolveResults } = found
    const resolving = await takeSnapshot(info, steps, this.#compiler.options.snapshot.resolveBuildDependencies)
    this.why.noteEverything(set)
    const read = [found, steps].flatMap(({ files, directories, missing }) => [...files, ...directories, ...missing])
    const paths = set.flatMap(([kind, name]) => (kind === 'env' || kind === 'names' ? [] : [notes.pathOf(name)]))
    const { names, isBound } = aboveOf(this.#reads.root.folder, [...all, ...read, ...paths])
    const above = new Set([...names, ...(this.#current?.above ?? [])])
    return this.#put({ dependencies: all, resolveResults, resolving, set, above }, isBound)
  }

  /** The keys of what dependencies lead to. */
  #inputsIn({ files, directories, missing }: Resolution, sinceMs: number): string[] {
    const { notes, isWritten } = this.#reads
    const below = [...directories].flatMap((folder) =>
      isInstalled(folder) ? [join(folder, 'package.json')] : filesBelow(folder),
    )
    return [
      ...[...files, ...linksBeside(files), ...below].flatMap((path) => notes.loaded(path, sinceMs, isWritten)),
      ...[...directories].flatMap((folder) => (isInstalled(folder) ? [] : notes.read('tree', folder))),
      ...[...missing].flatMap((path) => notes.read('type', path)),
    ]
  }

  async #put(record: EnvironmentRecord, isBound: boolean): Promise<string> {
    const serialized = await this.#codec.serialize(record)
    const bytes = Buffer.concat(serialized?.pieces ?? [])
    const id = idOf(bytes)
    const known = this.#generations()
    if (!this.#isListed(known)) this.#forgetReplaced()
    const stored = { id, bytes, isBound: isBound || this.#codec.isAlwaysBound }
    this.#records.put(this.#recordName(id), bytes, stored.isBound)
    this.#list(id, known)
    this.#verdicts.set(id, true)
    this.#current = this.#currentOf(stored, record, true)
    return id
  }

  async #check(id: string): Promise<boolean> {
    const bytes = this.#records.get(this.#recordName(id))
    if (bytes === undefined || !isOf(id, bytes)) return false
    const record: unknown = await this.#codec.deserialize([bytes])
    if (!isRecord(record)) return false
    const { notes, outdated, root } = this.#reads
    const changes = notes.changes(record.set)
    if (changes === undefined) return false
    const found = presentAbove(root.folder, record.above)
    const resolving: string[] = []
    const info = this.fileSystemInfo
    const isSame = changes.length === 0 && outdated === undefined && found.length === 0
    const isFresh = isSame && (await isUnchangedSince(info, record.resolving, resolving))
    const isValid = isFresh || (isSame && (await resolveAsBefore(info, record.resolveResults)))
    if (isValid) this.#current ??= this.#currentOf({ id, bytes: Buffer.from(bytes), isBound: true }, record, isFresh)
    else this.#noteChanges(changes, [...found, ...(outdated === undefined ? [] : [outdated]), ...resolving])
    return isValid
  }

  /** Notes what has changed since an environment: names, and words. */
  #noteChanges(changes: readonly ChangedInput[], paths: readonly string[]): void {
    const nameOf = (path: string): string => relative(this.#compiler.context, path)
    const inputs = changes.map(({ name, kind, ...states }) => ({
      kind,
      name: kind === 'env' ? name : nameOf(this.#reads.notes.pathOf(name)),
      ...states,
    }))
    const others = paths.map(nameOf)
    this.#changed = [...new Set([...inputs.map(({ name }) => name), ...others])].sort()
    const words = paths.map((path) => `${nameOf(path)} ${disk.existsSync(path) ? 'changed' : 'is gone'}`)
    this.#words = [...new Set([...inputs.map((input) => sentenceOf(input)), ...words])]
  }

  /**
   * Puts the environment of this build again if the cache has lost it or its list: damage, or a program that removes the directory while
   * webpack watches. Nothing else would, and what the process writes later would be of no use. Returns whether it did.
   */
  putAgain(): boolean {
    const current = this.#current
    const known = this.#generations()
    if (current === undefined) return false
    const isLost = this.#records.get(this.#recordName(current.id)) === undefined
    if (isLost) this.#records.put(this.#recordName(current.id), current.bytes, current.isBound)
    if (!isLost && this.#isListed(known)) return false
    this.#list(current.id, known)
    return true
  }

  /** What is stored beside the environments of the generation for this checkout alone. */
  get note(): Buffer | undefined {
    return this.#records.get(this.#recordName(NOTE))
  }

  set note(bytes: Buffer) {
    this.#records.put(this.#recordName(NOTE), bytes, true)
  }

  #isListed(known: readonly Generation[]): boolean {
    return known.some(({ generation }) => generation === this.#generation)
  }

  #list(id: string, known: readonly Generation[]): void {
    const { digest, name, digests: inputs } = this.#identity
    this.#records.put(name, encodeGenerations([{ generation: this.#generation, digest, id, inputs }, ...known]), false)
  }

  /** The generations of this compiler, the newest first. */
  #generations(): Generation[] {
    return decodeGenerations(this.#records.get(this.#identity.name)?.toString() ?? '')
  }

  #recordName(id: string): string {
    return `${this.entries.name}\0${this.#generation}\0${Buffer.from(id, 'latin1').toString('hex')}`
  }

  /** Deletes the environments of the generation that the current one replaces. */
  #forgetReplaced(): void {
    for (const [identifier] of this.#records.all()) {
      const [name, generation, id] = identifier?.split('\0') ?? []
      const isReplaced = name === this.entries.name && generation !== String(this.#generation)
      // The list of generations is a record too, without an id.
      if (identifier !== undefined && id !== undefined && isReplaced) this.#records.delete(identifier)
    }
  }

  #currentOf(
    stored: Pick<CurrentEnvironment, 'id' | 'bytes' | 'isBound'>,
    { dependencies, set, above }: EnvironmentRecord,
    isFresh: boolean,
  ): CurrentEnvironment {
    const { notes, root } = this.#reads
    // Whichever way a path is looked for that is missing.
    const missing = pathsAbove(root.folder, above).flatMap((path) => [`content ${path}`, `type ${path}`])
    return { ...stored, dependencies, set, above, known: new Set([...notes.keysOf(set), ...missing]), isFresh }
  }
}

/** Whether a decoded value is a record. Its set is checked when it is compared. */
function isRecord(value: unknown): value is EnvironmentRecord {
  if (typeof value !== 'object' || value === null) return false
  const { set, above } = value as { readonly set?: unknown; readonly above?: unknown }
  const hasSets = Array.isArray(set) && above instanceof Set
  return hasSets && 'dependencies' in value && 'resolveResults' in value && 'resolving' in value
}

/** All files below a directory, without packages. */
function filesBelow(folder: string): string[] {
  try {
    return disk.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.name === 'node_modules' || entry.name === '.git') return []
      return entry.isDirectory() ? filesBelow(path) : [path]
    })
  } catch {
    return [] // removed since
  }
}

function isSubset(part: ReadonlySet<string>, whole: { has(item: string): boolean }): boolean {
  for (const item of part) if (!whole.has(item)) return false
  return true
}

/** The environment of a root, seen from its directories above. */
export interface Above {
  /** Names that are missing in every directory above the root. */
  readonly names: ReadonlySet<string>
  /** Whether the environment depends on where the root is. */
  readonly isBound: boolean
}

const BOUND: Above = { names: new Set(), isBound: true }

/** What an environment that depends on these absolute paths has above its root. One that is bound needs no names. */
export function aboveOf(root: string, paths: readonly string[]): Above {
  const outer = foldersAbove(root)
  const names = new Set<string>()
  for (const path of paths) {
    const isNext = isNear(root, outer, path)
    if (!isNext && (isIn(root, path) || !outer.includes(dirname(path)))) continue
    const kind = kindOf(path)
    if (kind === 'missing') names.add(relative(outer.find((folder) => isIn(folder, path)) ?? '', path))
    else if (isNext || kind === 'file') return BOUND
  }
  return presentAbove(root, names).length === 0 ? { names, isBound: false } : BOUND
}

/** The paths of these names in the directories above the root. */
export function pathsAbove(root: string, names: Iterable<string>): string[] {
  return Array.from(names).flatMap((name) => foldersAbove(root).map((folder) => join(folder, name)))
}

/** Those of the paths that exist. Looking for them is no read of the build. */
export function presentAbove(root: string, names: Iterable<string>): string[] {
  return pathsAbove(root, names).filter((path) => disk.existsSync(path))
}

/** The directories above a root, the nearest first. */
function foldersAbove(root: string): string[] {
  const parent = dirname(root)
  return parent === root ? [] : [parent, ...foldersAbove(parent)]
}

/** Whether a path is next to the root, or in the packages of a directory above it. Those directories themselves are not. */
function isNear(root: string, outer: readonly string[], path: string): boolean {
  if (isIn(root, path) || outer.includes(path)) return false
  const [parent = root] = outer
  const isNextToRoot = dirname(parent) !== parent && isIn(parent, path)
  return isNextToRoot || outer.some((folder) => isIn(join(folder, 'node_modules'), path))
}

function isIn(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

function kindOf(path: string): 'missing' | 'file' | 'folder' {
  try {
    return disk.statSync(path).isDirectory() ? 'folder' : 'file'
  } catch {
    return 'missing' // or not readable
  }
}

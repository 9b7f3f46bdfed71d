/**
 * The environment in which entries were built: config files, loaders and everything that these import, tracked as webpack
 * tracks build dependencies. An entry names its environment and is used only while that environment is unchanged.
 *
 * The namespace has one record per environment: the reported dependencies, the files that they resolved to, and webpack's
 * snapshots of the resolution and of the files. For each compiler it also has the newest environment and the generation of
 * the compiler's namespace. When that environment has changed, the next generation begins, which frees the space of all
 * older entries at once. Two processes that detect the same change begin the same generation.
 */
import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { Compiler } from 'webpack'
import { aboveOf, pathsAbove, presentAbove } from './above.ts'
import { changedPackages, changesOf, missingIn, readNamed } from './changes.ts'
import { dependencyFiles, type FileSystemInfo } from './dependency-files.ts'
import type { Entries } from './entries.ts'
import type { Identity } from './identity.ts'
import { idOf } from './pointer.ts'
import { changedInputs, changesIn, type Digests, digestsOf, inputsOfMissing, isUnchanged, namesOf, pathsIn, pathsOf } from './recorded.ts'
import type { ValueCodec } from './value.ts'
import type { Why } from './why.ts'

type Snapshot = Parameters<FileSystemInfo['checkSnapshotValid']>[0]
type SnapshotOptions = Parameters<FileSystemInfo['createSnapshot']>[4] & object
type Resolution = NonNullable<Parameters<Parameters<FileSystemInfo['resolveBuildDependencies']>[3]>[1]>

/** Default options of a snapshot: compare timestamps first, and hashes if those differ. */
const SNAPSHOT_OPTIONS = { timestamp: true, hash: true }

/** The record of an environment. */
interface EnvironmentRecord {
  readonly dependencies: ReadonlySet<string>
  readonly resolveResults: Resolution['resolveResults']
  /** Snapshot of what was read to resolve the dependencies. */
  readonly resolving: Snapshot
  /** Snapshot of the dependencies themselves, and of the inputs that are paths. */
  readonly contents: Snapshot
  /** Inputs that loaders and plugins read without reporting them. */
  readonly inputs: Digests
  /** Names that are missing in every directory above the root. */
  readonly above: ReadonlySet<string>
}

/** Dependencies of a build besides its modules. */
export interface Dependencies {
  /** Build dependencies, which are followed through their imports. */
  readonly all: ReadonlySet<string>
  readonly optional: ReadonlySet<string>
  /** Recorded inputs; see `recorded.ts`. */
  readonly inputs: ReadonlySet<string>
}

/** The environment of new entries. */
interface CurrentEnvironment {
  readonly id: string
  readonly dependencies: ReadonlySet<string>
  readonly inputs: Digests
  readonly above: ReadonlySet<string>
  /** All inputs, with those that are missing above this root. */
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
  readonly root: string
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
  readonly #root: string
  readonly #verdicts: Map<string, boolean | Promise<boolean>> = new Map()
  /** What has changed since the newest environment: names, and words. */
  #changed: readonly string[] = []
  #words: readonly string[] = []
  #generation = 0
  #current: CurrentEnvironment | undefined
  #capturing: Promise<unknown> = Promise.resolve()

  constructor({ compiler, records, identity, fileSystemInfo, why, codec, root }: EnvironmentParts) {
    this.#compiler = compiler
    this.#records = records
    this.#identity = identity
    this.#codec = codec
    this.#root = root
    this.fileSystemInfo = fileSystemInfo
    this.why = why
  }

  /** The inputs of the environment of new entries. */
  get inputs(): ReadonlySet<string> {
    return this.#current?.known ?? new Set()
  }

  /** The version of the compiler's namespace, with its generation. */
  get version(): string {
    return `${this.#identity.digest} ${this.#generation}`
  }

  /**
   * Checks the newest environment. If it has changed, the next generation begins. Returns what has changed: variables, and paths
   * relative to the compiler's context.
   */
  async begin(): Promise<readonly string[]> {
    const newest = this.#records.get(this.#identity.name)?.toString() ?? ''
    const [digest, generation = '', id = '', ...inputs] = newest.split(' ')
    // With another digest no entry can be used, but the record may have the name of what changed.
    const isValid = await this.isValid(Buffer.from(id, 'hex').toString('latin1'))
    if (digest !== this.#identity.digest) this.#current = undefined
    else if (/^\d{1,12}$/.test(generation)) this.#generation = Number(generation) + (isValid ? 0 : 1)
    if (newest !== '') this.why.changes = [...changesOf(readNamed(inputs.join(' ')), this.#identity.digests), ...this.#words]
    return this.#changed
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

  /** The id of an environment that is known to cover these dependencies. */
  covering({ all, inputs }: Dependencies): string | undefined {
    const current = this.#current
    const isCovered = current?.isFresh === true && isSubset(all, current.dependencies) && isSubset(inputs, current.known)
    return isCovered ? current.id : undefined
  }

  /** The id of an environment that covers these dependencies; records a new one if none does. Calls run one after another. */
  capture(dependencies: Dependencies): Promise<string> {
    const capture = (): string | Promise<string> => this.covering(dependencies) ?? this.#capture(dependencies)
    const captured = this.#capturing.then(capture)
    this.#capturing = captured.catch(() => undefined)
    return captured
  }

  async #capture(dependencies: Dependencies): Promise<string> {
    const { optional } = dependencies
    const all = new Set([...(this.#current?.dependencies ?? []), ...dependencies.all])
    const inputs = digestsOf(new Set([...(this.#current?.inputs.keys() ?? []), ...dependencies.inputs]))
    const paths = pathsOf(inputs.keys())
    // A file that has been removed since counts as missing, which is part of the environment.
    const mayBeMissing = new Set([...optional, ...[...all].filter((dependency) => isAbsolute(dependency))])
    const resolution = await this.#resolve(all, mayBeMissing).catch(() => this.#resolveNames(all, mayBeMissing))
    const { files, directories, missing, resolveDependencies: steps } = resolution
    const how = this.#compiler.options.snapshot
    const [resolving, contents] = await Promise.all([
      this.#snapshot(steps.files, steps.directories, steps.missing, how.resolveBuildDependencies),
      this.#snapshot([...files, ...paths.files], directories, [...missing, ...paths.missing], how.buildDependencies),
    ])
    await this.why.putEverything(contents, inputs.keys())
    const read = [...all, ...files, ...directories, ...missing, ...steps.files, ...steps.directories, ...steps.missing]
    const { names, isBound } = aboveOf(this.#root, [...read, ...pathsIn(inputs)])
    const above = new Set([...names, ...(this.#current?.above ?? [])])
    return this.#put({ dependencies: all, resolveResults: resolution.resolveResults, resolving, contents, inputs, above }, isBound)
  }

  async #put(record: EnvironmentRecord, isBound: boolean): Promise<string> {
    const serialized = await this.#codec.serialize(record)
    const bytes = Buffer.concat((serialized?.parts ?? []).filter((part) => Buffer.isBuffer(part)))
    const id = idOf(bytes)
    const isOwn = isBound || this.#codec.isAlwaysBound
    const environment = `${this.#generation} ${Buffer.from(id, 'latin1').toString('hex')}`
    const newest = `${this.#identity.digest} ${environment} ${JSON.stringify(this.#identity.digests)}`
    this.#records.put(this.#recordName(id), bytes, isOwn)
    this.#records.put(this.#identity.name, Buffer.from(newest), isOwn)
    this.#verdicts.set(id, true)
    this.#current = this.#currentOf(id, record, true)
    return id
  }

  async #check(id: string): Promise<boolean> {
    const bytes = this.#records.get(this.#recordName(id))
    if (bytes === undefined || idOf(bytes) !== id) return false
    const record: unknown = await this.#codec.deserialize([bytes])
    if (!isRecord(record)) return false
    const [resolving, contents]: [string[], string[]] = [[], []]
    const compared = [this.#isUnchanged(record.resolving, resolving), this.#isUnchanged(record.contents, contents)] as const
    const [isFresh, isSame] = await Promise.all(compared)
    const found = presentAbove(this.#root, record.above)
    const isEqual = isSame && found.length === 0 && isUnchanged(record.inputs)
    const isValid = isEqual && (isFresh || (await this.#resolvesAsBefore(record)))
    if (isValid) this.#current ??= this.#currentOf(id, record, isFresh)
    else {
      const changed = [...(isSame ? resolving : contents), ...found, ...changedInputs(record.inputs)]
      this.#changed = namesOf(changed, this.#compiler.context)
      this.#words = this.#wordsOf(changed, record)
      this.#records.delete(this.#recordName(id))
    }
    return isValid
  }

  /** What has changed, in words: packages, inputs, then other files. */
  #wordsOf(changed: readonly string[], { contents, inputs }: EnvironmentRecord): string[] {
    const { context } = this.#compiler
    const known = new Map([...changedPackages(contents), ...changesIn(inputs, context)])
    const missing = new Set(missingIn(contents))
    const wordOf = (path: string): string => (!existsSync(path) ? 'is gone' : missing.has(path) ? 'appeared' : 'changed')
    const others = changed.filter((path) => !known.has(path)).map((path) => `${namesOf([path], context)[0] ?? path} ${wordOf(path)}`)
    return [...new Set([...known.values(), ...others])]
  }

  #recordName(id: string): string {
    return `${this.#identity.name} ${Buffer.from(id, 'latin1').toString('hex')}`
  }

  #currentOf(id: string, { dependencies, inputs, above }: EnvironmentRecord, isFresh: boolean): CurrentEnvironment {
    const known = new Set([...inputs.keys(), ...inputsOfMissing(pathsAbove(this.#root, above))])
    return { id, dependencies, inputs, above, known, isFresh }
  }

  #resolve(dependencies: ReadonlySet<string>, optional: ReadonlySet<string>): Promise<Resolution> {
    return new Promise((resolve, reject) => {
      const gone = new Set<string>()
      const done = (error?: Error | null, resolution?: Resolution): void => {
        if (resolution === undefined) return reject(error ?? new Error('webpack resolved no build dependencies'))
        for (const path of gone) if (resolution.files.delete(path)) resolution.missing.add(path)
        resolve(resolution)
      }
      const info = dependencyFiles(this.fileSystemInfo, gone)
      const { context } = this.#compiler
      // In versions of webpack without optional build dependencies, the callback is the third parameter.
      const call = info.resolveBuildDependencies.length < 4 ? [context, dependencies, done] : [context, dependencies, optional, done]
      Reflect.apply(info.resolveBuildDependencies, info, call)
    })
  }

  /** Compares files without their imports, for files whose imports webpack cannot follow. They must not cost the whole cache. */
  async #resolveNames(dependencies: ReadonlySet<string>, optional: ReadonlySet<string>): Promise<Resolution> {
    const isFile = (dependency: string): boolean => isAbsolute(dependency) && !/[\\/]$/.test(dependency)
    const resolution = await this.#resolve(new Set([...dependencies].filter((dependency) => !isFile(dependency))), optional)
    for (const dependency of dependencies) {
      if (isFile(dependency)) (existsSync(dependency) ? resolution.files : resolution.missing).add(dependency)
    }
    return resolution
  }

  #snapshot(
    files: Iterable<string>,
    folders: Iterable<string>,
    missing: Iterable<string>,
    how: SnapshotOptions = SNAPSHOT_OPTIONS,
  ): Promise<Snapshot> {
    return new Promise((resolve, reject) => {
      this.fileSystemInfo.createSnapshot(undefined, files, folders, missing, how, (error, snapshot) => {
        if (snapshot === null || snapshot === undefined) reject(error ?? new Error('webpack made no snapshot'))
        else resolve(snapshot)
      })
    })
  }

  /** Compares a snapshot, and adds what webpack found changed to `changed`: it stops at the first difference of each kind. */
  #isUnchanged(snapshot: Snapshot, changed: string[]): Promise<boolean> {
    const note = (path: string): void => void changed.push(path)
    const info: FileSystemInfo = Object.create(this.fileSystemInfo, { _remainingLogs: { value: 1 }, _log: { value: note } })
    return new Promise((resolve) => {
      info.checkSnapshotValid(snapshot, (error, isValid) => resolve(!error && isValid === true))
    })
  }

  #resolvesAsBefore({ resolveResults }: EnvironmentRecord): Promise<boolean> {
    return new Promise((resolve) => {
      this.fileSystemInfo.checkResolveResultsValid(resolveResults, (error, isValid) => resolve(!error && isValid === true))
    })
  }
}

function isSubset(part: ReadonlySet<string>, whole: { has(item: string): boolean }): boolean {
  for (const item of part) if (!whole.has(item)) return false
  return true
}

function isRecord(value: unknown): value is EnvironmentRecord {
  if (typeof value !== 'object' || value === null) return false
  const { inputs, above } = value as { readonly inputs?: unknown; readonly above?: unknown }
  const hasSets = inputs instanceof Map && above instanceof Set
  return hasSets && 'dependencies' in value && 'resolveResults' in value && 'resolving' in value && 'contents' in value
}

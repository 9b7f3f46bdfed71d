/**
 * The environment in which entries were built: config files, loaders and everything that these import, tracked as webpack
 * tracks build dependencies. An entry names its environment and is used only while that environment is unchanged.
 *
 * The namespace has one record per environment: the reported dependencies, the files that they resolved to, and webpack's
 * snapshots of the resolution and of the files. For each compiler it also has the newest generations of entries, each with
 * its newest environment (`generations.ts`). A build uses the newest generation whose environment is unchanged, so that
 * worktrees and branches with other configs each keep theirs. If there is none, the next generation begins. Two processes
 * that detect the same change begin the same generation.
 */
import { isAbsolute } from 'node:path'
import type { Compiler } from 'webpack'
import { aboveOf, pathsAbove, presentAbove } from './above.ts'
import { changedPackages, changesOf, missingIn } from './changes.ts'
import { dependencyFiles, type FileSystemInfo } from './dependency-files.ts'
import type { Entries } from './entries.ts'
import {
  type CurrentEnvironment,
  type Dependencies,
  type EnvironmentRecord,
  isRecord,
  type Resolution,
} from './environment-record.ts'
import {
  decodeGenerations,
  encodeGenerations,
  type EntriesName,
  entriesOf,
  type Generation,
  nextGeneration,
} from './generations.ts'
import type { Identity } from './identity.ts'
import { linksBeside, Packages } from './packages.ts'
import { idOf, isOf } from './pointer.ts'
import {
  changedInputs,
  changesIn,
  digestsOf,
  inputsOfMissing,
  isUnchanged,
  namesOf,
  pathsIn,
  pathsOf,
  unknownInputs,
} from './recorded.ts'
import type { BuildReads } from './reads.ts'
import { isUnchangedSince, takeSnapshot } from './snapshots.ts'
import type { ValueCodec } from './value.ts'
import type { Why } from './why.ts'
import { disk } from '../host/files.ts'

/** Stands for the id of an environment in the name of the note. No id is that long. */
const NOTE = 'the last build'

/** What environments are made of. */
interface EnvironmentParts {
  readonly compiler: Compiler
  readonly records: Entries
  readonly identity: Identity
  readonly fileSystemInfo: FileSystemInfo
  readonly why: Why
  readonly codec: ValueCodec
  readonly root: string
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
  readonly #root: string
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

  constructor({ compiler, records, identity, fileSystemInfo, why, codec, root, reads }: EnvironmentParts) {
    this.#compiler = compiler
    this.#records = records
    this.#identity = identity
    this.#codec = codec
    this.#root = root
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

  /** The id of an environment that is known to cover these dependencies. */
  covering({ all, inputs }: Dependencies): string | undefined {
    const current = this.#current
    const isCovered =
      current?.isFresh === true && isSubset(all, current.dependencies) && isSubset(inputs, current.known)
    return isCovered ? current.id : undefined
  }

  /** The id of an environment that covers these dependencies; records a new one if none does. Calls run one after another. */
  capture(dependencies: Dependencies): Promise<string> {
    const capture = (): string | Promise<string> => {
      const sinceMs = this.#sinceMs ?? Date.now()
      this.#sinceMs = undefined
      return this.covering(dependencies) ?? this.#capture(dependencies, sinceMs)
    }
    const captured = this.#capturing.then(capture)
    this.#capturing = captured.catch(() => undefined)
    return captured
  }

  async #capture(dependencies: Dependencies, sinceMs: number): Promise<string> {
    const { optional } = dependencies
    const all = new Set([...(this.#current?.dependencies ?? []), ...dependencies.all])
    const present = digestsOf(new Set([...(this.#current?.inputs.keys() ?? []), ...dependencies.inputs]))
    const inputs = new Map([
      ...present,
      ...(this.#current?.inputs ?? []),
      ...[...this.#reads.found.digests].filter(([input]) => present.has(input)),
    ])
    const paths = pathsOf(inputs.keys())
    // A file that has been removed since counts as missing, which is part of the environment.
    const mayBeMissing = new Set([...optional, ...[...all].filter((dependency) => isAbsolute(dependency))])
    const resolution = await this.#resolve(all, mayBeMissing).catch(() => this.#resolveNames(all, mayBeMissing))
    const { files, directories, missing, resolveDependencies: steps } = resolution
    const how = this.#compiler.options.snapshot
    const wanted = {
      files: [...files, ...linksBeside(files), ...paths.files],
      directories,
      missing: [...missing, ...paths.missing],
    }
    const [resolving, contents] = await Promise.all([
      takeSnapshot(this.fileSystemInfo, steps, how.resolveBuildDependencies),
      takeSnapshot(this.fileSystemInfo, wanted, how.buildDependencies),
    ])
    const used = [...wanted.files, ...wanted.missing]
    const { found, isWritten, outdated } = this.#reads
    found.inUse.noteCode(used, sinceMs, isWritten)
    const unknown = [...found.inUse.changed(used, isWritten), ...(outdated === undefined ? [] : [outdated])]
    for (const [input, digest] of unknownInputs(unknown)) inputs.set(input, digest)
    await this.why.putEverything(contents, inputs.keys())
    const read = [...all, ...files, ...directories, ...missing, ...steps.files, ...steps.directories, ...steps.missing]
    const { names, isBound } = aboveOf(this.#root, [...read, ...pathsIn(inputs)])
    const above = new Set([...names, ...(this.#current?.above ?? [])])
    return this.#put(
      { dependencies: all, resolveResults: resolution.resolveResults, resolving, contents, inputs, above },
      isBound,
    )
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
    const [resolving, contents]: [string[], string[]] = [[], []]
    const info = this.fileSystemInfo
    const compared = [
      isUnchangedSince(info, record.resolving, resolving),
      isUnchangedSince(info, record.contents, contents),
    ] as const
    const [isFresh, isSame] = await Promise.all(compared)
    const found = presentAbove(this.#root, record.above)
    const { outdated } = this.#reads
    const isEqual = isSame && outdated === undefined && found.length === 0 && isUnchanged(record.inputs)
    const isValid = isEqual && (isFresh || (await this.#resolvesAsBefore(record)))
    if (isValid) this.#current ??= this.#currentOf({ id, bytes: Buffer.from(bytes), isBound: true }, record, isFresh)
    else {
      const held = outdated === undefined ? [] : [outdated]
      const changed = [...(isSame ? resolving : contents), ...found, ...held, ...changedInputs(record.inputs)]
      this.#changed = namesOf(changed, this.#compiler.context)
      this.#words = this.#wordsOf(changed, record)
    }
    return isValid
  }

  /** What has changed, in words: packages, inputs, then other files. */
  #wordsOf(changed: readonly string[], { contents, inputs }: EnvironmentRecord): string[] {
    const { context } = this.#compiler
    const known = new Map([...changedPackages(contents), ...changesIn(inputs, context)])
    const missing = new Set(missingIn(contents))
    const wordOf = (path: string): string =>
      !disk.existsSync(path) ? 'is gone' : missing.has(path) ? 'appeared' : 'changed'
    const others = changed
      .filter((path) => !known.has(path))
      .map((path) => `${namesOf([path], context)[0] ?? path} ${wordOf(path)}`)
    return [...new Set([...known.values(), ...others])]
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
    { dependencies, inputs, above }: EnvironmentRecord,
    isFresh: boolean,
  ): CurrentEnvironment {
    const known = new Set([...inputs.keys(), ...inputsOfMissing(pathsAbove(this.#root, above))])
    return { ...stored, dependencies, inputs, above, known, isFresh }
  }

  #resolve(dependencies: ReadonlySet<string>, optional: ReadonlySet<string>): Promise<Resolution> {
    return new Promise((resolve, reject) => {
      const gone = new Set<string>()
      const done = (error?: Error | null, resolution?: Resolution): void => {
        if (resolution === undefined) return reject(error ?? new Error('webpack resolved no build dependencies'))
        for (const path of gone) if (resolution.files.delete(path)) resolution.missing.add(path)
        resolve(resolution)
      }
      const { context, options } = this.#compiler
      const info = dependencyFiles(this.fileSystemInfo, new Packages(options.snapshot), gone)
      // In versions of webpack without optional build dependencies, the callback is the third parameter.
      const call =
        info.resolveBuildDependencies.length < 4
          ? [context, dependencies, done]
          : [context, dependencies, optional, done]
      Reflect.apply(info.resolveBuildDependencies, info, call)
    })
  }

  /** Compares files without their imports, for files whose imports webpack cannot follow. They must not cost the whole cache. */
  async #resolveNames(dependencies: ReadonlySet<string>, optional: ReadonlySet<string>): Promise<Resolution> {
    const isFile = (dependency: string): boolean => isAbsolute(dependency) && !/[\\/]$/.test(dependency)
    const resolution = await this.#resolve(
      new Set([...dependencies].filter((dependency) => !isFile(dependency))),
      optional,
    )
    for (const dependency of dependencies) {
      if (isFile(dependency)) (disk.existsSync(dependency) ? resolution.files : resolution.missing).add(dependency)
    }
    return resolution
  }
  #resolvesAsBefore({ resolveResults }: EnvironmentRecord): Promise<boolean> {
    return new Promise((resolve) => {
      this.fileSystemInfo.checkResolveResultsValid(resolveResults, (error, isValid) =>
        resolve(!error && isValid === true),
      )
    })
  }
}

function isSubset(part: ReadonlySet<string>, whole: { has(item: string): boolean }): boolean {
  for (const item of part) if (!whole.has(item)) return false
  return true
}

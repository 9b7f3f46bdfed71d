/**
 * A set of inputs as it is stored: JSON, in the namespace `reads:<name>` of a cache, two lookups away from the results: result, generation, set.
 *
 *   generation <id>   the digest of a set               what one process had read when it committed
 *   set <digest>      [['content', '.browserslistrc', 'b9Tw..', 120, 1795257074727.025, 1795257074727.025, 91],
 *                                                       kind, path relative to the root, digest, bytes, mtime, ctime, inode;
 *                                                       zeros: only the digest counts
 *                      ['env', 'BROWSERSLIST', 'undefined', 0, 0, 0, 0],
 *                      ['names', 'DEBUG_', 'd5aX..', 0, 0, 0, 0]]   the names of all variables that count and begin so
 *
 * An input holds if its digest is still the recorded one, and the process has nothing else of it in memory.
 *
 * Many generations share a set. Its digest leaves out the stamps, so that it can get newer stamps in place.
 */
import { digestOfNames, digestOfText, digestOfVariable } from './digest.ts'
import { VarveError } from '../errors.ts'
import { jsonOf } from '../values/json.ts'
import { builtin } from '../host/builtin.ts'
import { fileNowMs, isSameStamp, isYoungStamp, NO_STAMP, type Stamp } from './stamp.ts'
import { canCheckMany, checkInJavaScript, type Finding, type Findings, MANY, PackedInputs } from './many.ts'
import { Observed } from './observed.ts'
import type { Root } from './root.ts'
import { countedVariables } from './variables.ts'
import { type Disk, type Found, holdsHidden, isOfFolder, READ_KINDS, type ReadKind } from './input.ts'

/** One input with the state that a result was made from. */
export type StoredInput = readonly [kind: ReadKind | 'env' | 'names', name: string, digest: string, ...stamp: Stamp]

const KINDS: ReadonlySet<unknown> = new Set([...READ_KINDS, 'env', 'names'])

/** The stored form of a read of the disk. A link is stored as its target, relative to the root. */
export function storedInput({ kind, path, digest, stamp }: Found, root: Root): StoredInput {
  return [kind, root.relative(path), kind === 'link' ? storedTarget(digest, root) : digest, ...stamp]
}

/** The digest of a link: where it leads, relative to the root, or that it leads nowhere. */
function storedTarget(target: string, root: Root): string {
  if (target === 'missing') return target
  const relative = root.relative(target)
  return relative === 'missing' ? './missing' : relative
}

/** The path that a link led to by its digest, as the system names it; undefined for any other digest. */
export function linkTarget(digest: string, root: Root): string | undefined {
  return digest === 'missing' ? digest : root.resolved(digest)
}

/** The stored form of a variable as it is now. */
export function storedVariable(name: string): StoredInput {
  return ['env', name, digestOfVariable(name), ...NO_STAMP]
}

/** The stored form of the names of all variables that begin with a prefix. */
export function storedNames(prefix: string, names: readonly string[]): StoredInput {
  return ['names', prefix, digestOfNames(names), ...NO_STAMP]
}

/** The digest of a set, without stamps, and the set in the order that it is stored in. */
export function sealSet(reads: readonly StoredInput[]): {
  readonly digest: string
  readonly set: readonly StoredInput[]
} {
  const set = reads.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1))
  return { digest: digestOfText(jsonOf(set.map(([kind, name, digest]) => [kind, name, digest]))), set }
}

/** The names in a set of files and of variables, as `why` names them. */
export function namesOf(set: readonly StoredInput[]): {
  readonly files: readonly string[]
  readonly variables: readonly string[]
} {
  const [variables, files] = [set.filter(isOfVariables), set.filter((read) => !isOfVariables(read))]
  return {
    files: files.map(([, name]) => name),
    variables: variables.map(([kind, name]) => (kind === 'names' ? `${name}*` : name)),
  }
}

/** A set as read from a cache; undefined if it is none. */
export function readSet(value: unknown): readonly StoredInput[] | undefined {
  return Array.isArray(value) && value.every(isStoredInput) ? value : undefined
}

function isStoredInput(value: unknown): value is StoredInput {
  if (!Array.isArray(value) || value.length !== 7) return false
  const [kind, name, digest, ...stamp]: unknown[] = value
  return (
    KINDS.has(kind) &&
    typeof name === 'string' &&
    !name.includes('\0') &&
    typeof digest === 'string' &&
    stamp.every(Number.isFinite)
  )
}

function isOfVariables([kind]: StoredInput): boolean {
  return kind === 'env' || kind === 'names'
}

/** Whether an input is on disk. */
export function isOfDisk(kind: StoredInput[0]): kind is ReadKind {
  return kind !== 'env' && kind !== 'names'
}

function orderOf([kind, name]: StoredInput): string {
  return `${name}\0${kind}`
}

/** Whether the process has another state of this input in memory than `now` finds on disk. */
export type IsOutdated = (kind: ReadKind, path: string, now: () => Observed) => boolean

/** An input that is no longer what it was. */
export interface ChangedInput {
  readonly kind: 'file' | 'list' | 'env'
  /** Path relative to the root, or name of the variable; '*' after the beginning of the names of all variables. */
  readonly name: string
  readonly before: string
  readonly after: string
}

/** How an input, or a set of them, compares with the present: the same, the same with newer stamps, which can be stored, or not. */
export type Match = 'same' | 'restamped' | 'changed'

/** An input that was compared together with others, and holds. */
interface Together {
  readonly recorded: Stamp
  /** Its stamp now, if only that differs and can be stored. */
  readonly now: Stamp | undefined
}

/** Inputs for one call of the addon, in their order, and those that it cannot compare. */
interface Packed {
  readonly inputs: PackedInputs
  readonly together: readonly StoredInput[]
  readonly left: readonly StoredInput[]
  /** On the clock of the file system: a later change has another time than anything that is not young now. */
  readonly nowMs: number
}

/**
 * Inputs as they are at one moment, each looked at once. Stamps are compared first, so a file with an equal stamp is not read; if only its
 * stamp differs, its content decides. Many inputs are compared together (`many.ts`).
 */
export class Comparison {
  /** When it began, on the clock of the file system. */
  readonly startMs: number = fileNowMs()
  readonly #disk: Disk | undefined
  readonly #root: Root
  readonly #isOutdated: IsOutdated
  readonly #observed: Map<string, Observed> = new Map()
  readonly #digests: Map<string, string> = new Map()
  readonly #together: Map<string, Together> = new Map()
  readonly #many: number

  /** Without a disk, as in browsers, it refuses files. `many`: from how many inputs on they are compared together. */
  constructor(disk: Disk | undefined, root: Root, isOutdated: IsOutdated = () => false, many: number = MANY) {
    this.#many = many
    this.#disk = disk
    this.#root = root
    this.#isOutdated = isOutdated
  }

  get disk(): Disk {
    if (this.#disk !== undefined) return this.#disk
    const message = 'files of tasks need node:fs and node:path, which this host does not have; use inputs instead'
    throw new VarveError('ENGINE_UNAVAILABLE', message)
  }

  /** How a set stands; stops at the first input that changed. */
  compare(set: readonly StoredInput[]): Match {
    let all: Match = 'same'
    const packed = this.#pack(set)
    const findings = packed?.inputs.check(true)
    const left = packed === undefined || findings === undefined ? set : this.#adopt(packed, findings)
    if (packed !== undefined && findings !== undefined) {
      const isRestamped = ([index]: [number, Finding]): boolean => {
        const input = packed.together[index]
        return input !== undefined && this.#togetherOf(input)?.now !== undefined
      }
      if ([...findings].some(isRestamped)) all = 'restamped'
    }
    for (const input of left) {
      const found = this.compareOne(input)
      if (found === 'changed') return 'changed'
      if (found === 'restamped') all = 'restamped'
    }
    return all
  }

  compareOne(input: StoredInput): Match {
    const [kind, name, digest, ...stamp] = input
    if (!isOfDisk(kind)) return this.now(kind, name) === digest ? 'same' : 'changed'
    const together = this.#togetherOf(input)
    if (together !== undefined) return together.now === undefined ? 'same' : 'restamped'
    if (this.#isOutdated(kind, this.#root.absolute(name), () => this.observe(kind, name))) return 'changed'
    if (kind !== 'link') return this.observe(kind, name).compare(this.disk, digest, stamp)
    return this.now(kind, name) === digest ? 'same' : 'changed'
  }

  /** Compares many inputs without the thread of the program, so that `compare` knows those that hold. */
  async prepare(inputs: readonly StoredInput[]): Promise<void> {
    const packed = this.#pack([...new Map(inputs.map((input) => [togetherKey(input), input])).values()])
    const findings = await packed?.inputs.checkAsync(false)
    if (packed === undefined || findings === undefined) return
    for (const [index, input] of packed.together.entries()) {
      const finding = findings.get(index)
      if (typeof finding !== 'string') this.#know(input, finding, packed.nowMs)
    }
  }

  /** Everything of a set that changed. */
  changes(set: readonly StoredInput[]): ChangedInput[] {
    return set.flatMap((input): ChangedInput[] => {
      const [kind, name, before] = input
      if (this.compareOne(input) !== 'changed') return []
      const change = { before, after: this.now(kind, name) }
      if (!isOfDisk(kind)) return [{ kind: 'env', name: kind === 'env' ? name : `${name}*`, ...change }]
      return [{ kind: isOfFolder(kind) ? 'list' : 'file', name: name === '' ? '.' : name, ...change }]
    })
  }

  /** The set with the stamps of now. */
  restamped(set: readonly StoredInput[]): readonly StoredInput[] {
    return set.map((input): StoredInput => {
      const [kind, name, digest] = input
      if (!isOfDisk(kind) || this.compareOne(input) !== 'restamped') return input
      const newer = this.#togetherOf(input)?.now
      if (newer !== undefined) return [kind, name, digest, ...newer]
      return [kind, name, digest, ...(this.observe(kind, name).seal(this.disk)?.stamp ?? NO_STAMP)]
    })
  }

  /** The digest of an input. */
  now(kind: StoredInput[0], name: string): string {
    const key = `${kind} ${name}`
    const digest = this.#digests.get(key) ?? this.#digestOf(kind, name)
    this.#digests.set(key, digest)
    return digest
  }

  /** What is at a path; looked at when it is asked for first. */
  observe(kind: ReadKind, name: string): Observed {
    const key = `${kind} ${name}`
    const made = this.#observed.get(key) ?? new Observed(this.disk, kind, this.#root.absolute(name))
    this.#observed.set(key, made)
    return made
  }

  /** Whether a path was looked at, so that each later change shows. */
  hasSettled(kind: ReadKind, name: string): boolean {
    return this.#observed.get(`${kind} ${name}`)?.isSettled === true
  }

  /** What the addon can compare; undefined if that is too little. */
  #pack(set: readonly StoredInput[]): Packed | undefined {
    if (set.length < this.#many || this.#disk?.fs !== builtin('node:fs') || !canCheckMany()) return undefined
    const nowMs = fileNowMs()
    const inputs = new PackedInputs(set.length)
    const together: StoredInput[] = []
    const left: StoredInput[] = []
    for (const input of set) (this.#add(inputs, input) ? together : left).push(input)
    return together.length < this.#many ? undefined : { inputs, together, left, nowMs }
  }

  /** Adds an input to those for the addon, unless only this process can compare it. */
  #add(packed: PackedInputs, input: StoredInput): boolean {
    const [kind, name, digest] = input
    if (!isOfDisk(kind) || kind === 'package' || this.#observed.has(`${kind} ${name}`)) return false
    const path = this.#root.absolute(name)
    if (isOfFolder(kind) && holdsHidden(this.disk, path)) return false
    if (this.#isOutdated(kind, path, () => this.observe(kind, name))) return false
    const target = kind === 'link' ? linkTarget(digest, this.#root) : digest
    if (target !== undefined) packed.add(kind, path, target, stampIn(input))
    return target !== undefined
  }

  /** Takes over what the addon found until an input had changed. Returns those that have to be compared one by one. */
  #adopt({ together, left, nowMs }: Packed, findings: Findings): readonly StoredInput[] {
    const undecided: StoredInput[] = []
    for (const [index, finding] of findings) {
      const input = together[index]
      if (input === undefined) continue
      if (finding === 'undecided') undecided.push(input)
      else if (finding !== 'changed') this.#know(input, finding, nowMs)
      else if (this.compareOne(input) === 'changed') return [input]
      else {
        checkInJavaScript()
        return [...together, ...left]
      }
    }
    return [...left, ...undecided]
  }

  #know(input: StoredInput, now: Stamp | undefined, nowMs: number): void {
    const isNewer = now !== undefined && now[1] !== 0 && !isYoungStamp(now, nowMs)
    this.#together.set(togetherKey(input), { recorded: stampIn(input), now: isNewer ? now : undefined })
  }

  #togetherOf(input: StoredInput): Together | undefined {
    if (this.#together.size === 0) return undefined
    const found = this.#together.get(togetherKey(input))
    return found !== undefined && isSameStamp(found.recorded, stampIn(input)) ? found : undefined
  }

  #digestOf(kind: StoredInput[0], name: string): string {
    if (kind === 'env') return digestOfVariable(name)
    if (kind === 'names') return digestOfNames(countedVariables(name))
    const digest = this.observe(kind, name).digest(this.disk)
    return kind === 'link' ? storedTarget(digest, this.#root) : digest
  }
}

function togetherKey([kind, name, digest]: StoredInput): string {
  return `${kind} ${name}\0${digest}`
}

function stampIn(input: StoredInput): Stamp {
  return [input[3], input[4], input[5], input[6]]
}

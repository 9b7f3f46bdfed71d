/**
 * Many inputs checked in one call of the addon, by all cores: `crates/disk/src/inputs.rs`. It looks at files past `node:fs`, so it is used
 * only where that leads to the files of the system, and what it finds changed is compared in JavaScript before it counts.
 */
import { packageOf } from './digest.ts'
import type { Stamp } from './stamp.ts'

/** What is used of the addon. */
export interface NativeCheck {
  readonly checkInputs: (rows: string, stamps: Float64Array, untilChange: boolean) => Uint8Array
  /** Text is the failure. */
  readonly checkInputsAsync: (rows: string, stamps: Float64Array, untilChange: boolean) => Promise<Uint8Array | string>
}

/** What the addon found of an input that is not as it was: its stamp now if only that differs; `'undecided'` is left to JavaScript. */
export type Finding = Stamp | 'changed' | 'undecided'

/** Inputs that are not as they were, by their index. */
export type Findings = ReadonlyMap<number, Finding>

/** With fewer inputs a call of the addon takes longer than it saves. */
export const MANY = 64

/** Numbers of one input in an answer: index, state, stamp. */
const ANSWER_LENGTH = 6

/** The letters of kinds in a packed set; a large one for the manifest of a package, whose digest has the version. */
const LETTERS = { content: 'c', list: 'l', module: 'c', tree: 't', type: 'y', link: 'k' } as const
export type PackedKind = keyof typeof LETTERS

/** Other programs than Node.js, and Plug'n'Play. */
const OTHERS = ['bun', 'deno', 'electron', 'pnp']

let native: NativeCheck | undefined

/** Inputs are checked by this addon from now on. */
export function checkWith(addon: NativeCheck): void {
  const { platform, versions } = globalThis.process
  // Elsewhere, `node:fs` has files that the system has not, stamps are others, or access to files is limited.
  const isOther = platform === 'win32' || OTHERS.some((name) => name in versions)
  if (!isOther && Reflect.get(globalThis.process, 'permission') === undefined) native = addon
}

/** The addon was wrong about an input: something has replaced functions of `node:fs`. */
export function checkInJavaScript(): void {
  native = undefined
}

/** Whether inputs can be checked natively. */
export function canCheckMany(): boolean {
  return native !== undefined
}

/** A set of inputs for one call. */
export class PackedInputs {
  readonly #rows: string[] = []
  readonly #stamps: Float64Array
  #length = 0

  /** Has room for `count` inputs. */
  constructor(count: number) {
    this.#stamps = new Float64Array(4 * count)
  }

  get length(): number {
    return this.#length
  }

  /** Adds an input; `path` is absolute. */
  add(kind: PackedKind, path: string, digest: string, stamp: Stamp): void {
    const isVersioned = path.endsWith('package.json') && (kind === 'content' || kind === 'module')
    const letter = LETTERS[kind]
    this.#rows.push((isVersioned && packageOf(path) !== undefined ? letter.toUpperCase() : letter) + digest, path)
    const at = 4 * this.#length
    const [size, mtimeMs, ctimeMs, ino] = stamp
    this.#stamps[at] = size
    this.#stamps[at + 1] = mtimeMs
    this.#stamps[at + 2] = ctimeMs
    this.#stamps[at + 3] = ino
    this.#length += 1
  }

  /** Compares all with the present, or until one has changed. Undefined if JavaScript has to. */
  check(untilChange: boolean): Findings | undefined {
    if (native === undefined) return undefined
    try {
      return findingsIn(native.checkInputs(this.#text(), this.#stampsOfAll(), untilChange))
    } catch {
      return undefined // a path with a zero, which no file has
    }
  }

  /** Compares all with the present on other threads, or until one has changed. Undefined if JavaScript has to. */
  async checkAsync(untilChange: boolean): Promise<Findings | undefined> {
    if (native === undefined) return undefined
    try {
      const answer = await native.checkInputsAsync(this.#text(), this.#stampsOfAll(), untilChange)
      return typeof answer === 'string' ? undefined : findingsIn(answer)
    } catch {
      return undefined
    }
  }

  #text(): string {
    return this.#rows.join('\0')
  }

  #stampsOfAll(): Float64Array {
    return this.#stamps.subarray(0, 4 * this.#length)
  }
}

function findingsIn(answer: Uint8Array): Findings {
  const numbers = new Float64Array(answer.slice().buffer)
  const findings = new Map<number, Finding>()
  for (let at = 0; at + ANSWER_LENGTH <= numbers.length; at += ANSWER_LENGTH) {
    const [index = 0, state, size = 0, mtimeMs = 0, ctimeMs = 0, ino = 0] = numbers.subarray(at, at + ANSWER_LENGTH)
    findings.set(index, state === 1 ? [size, mtimeMs, ctimeMs, ino] : state === 2 ? 'changed' : 'undecided')
  }
  return findings
}

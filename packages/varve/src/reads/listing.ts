/**
 * Code that goes through all variables of the environment. A proxy is asked the same for each way to do that, in this order:
 *
 *   Object.keys, for-in                     the names, the property of each
 *   {...env}, Object.entries, .assign       the names, then for each its property and right after it its value
 *   JSON.stringify, a loop over the names   the names, perhaps the property of each, then the value of each
 *   Object.getOwnPropertyDescriptors        the names, the property of each, which has its value
 *
 * To ask for names reads names. A value that is asked for as part of a listing is read, too, but code that lists has not named
 * the variable: those of terminals do not count then. Only the stack shows who lists, and whether by `getOwnPropertyDescriptors`.
 */
import { isOfTerminal } from '../inputs/variables.ts'
import { linesAbove, packageIn } from './stack.ts'
import type { Sink } from './sink.ts'

/** Packages that look for names with a prefix, in whatever case. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['debug', 'DEBUG_'],
  ['obug', 'DEBUG_'],
  ['react-scripts', 'REACT_APP_'],
  ['@vue/cli-service', 'VUE_APP_'],
  ['@expo/env', 'EXPO_PUBLIC_'],
  ['path-key', 'PATH'],
])

/** Packages that give all variables to a process and look at none. What processes read cannot be seen anyway. */
const STARTERS =
  /^(?:cross-spawn|execa|foreground-child|jest-worker|nano-spawn|npm-run-path|tinyexec|tinypool|worker-farm|workerpool)$/
const STARTER_OF_NODE = /\bnode:(?:internal\/)?child_process:/

/** How the value of a variable was asked for: right after its property, or in a row with those before it. */
type Place = 'pair' | 'row'

/** One pass through all variables. */
export class Listing {
  readonly #sink: Sink
  readonly #names: readonly (string | symbol)[]
  /** The values go to a process. */
  readonly #isForProcess: boolean
  /** Number of names whose property was asked for, in order. */
  #described = 0
  /** Number of names whose value was asked for, in order; all of them once another value came between. */
  #taken = 0
  #hasPairs = false

  /** `above`: the function that was called for the names. Reports to the sink what the listing alone reads. */
  constructor(sink: Sink, names: readonly (string | symbol)[], above: (...args: never[]) => unknown) {
    const [first = '', second = ''] = linesAbove(above)
    const isBuiltin = first.includes('(<anonymous>)')
    const caller = isBuiltin ? second : first
    const lister = packageIn(caller) ?? ''
    this.#sink = sink
    this.#names = names
    this.#isForProcess = STARTER_OF_NODE.test(caller) || STARTERS.test(lister)
    if (this.#isForProcess) return
    sink.variables(PREFIXES.get(lister) ?? '')
    if (isBuiltin && first.includes('getOwnPropertyDescriptors'))
      for (const name of names) if (typeof name === 'string') sink.variable(name, true)
  }

  /** The property of a variable is asked for. Returns whether the listing does so, which reads nothing but names. */
  describes(sink: Sink, name: string | symbol): boolean {
    if (sink !== this.#sink || this.#names[this.#described] !== name) return false
    this.#described += 1
    return true
  }

  /** The value of a variable is asked for. */
  read(sink: Sink, name: string): void {
    const place = sink === this.#sink ? this.#placeOf(name) : undefined
    if (place !== undefined && this.#isForProcess) return
    sink.variable(name, place === 'pair' || (place === 'row' && isOfTerminal(name)))
  }

  /** Code that names the variable may do so right after a listing: that value belongs to it only if those before it do. */
  #placeOf(name: string): Place | undefined {
    const { length } = this.#names
    const isPair = this.#names[this.#described - 1] === name && (this.#described < length || this.#hasPairs)
    const isInRow = this.#names[this.#taken] === name && (this.#described === length || this.#described === 0)
    this.#hasPairs ||= isPair
    this.#taken = isInRow ? this.#taken + 1 : length
    if (isPair) return 'pair'
    return isInRow && (this.#taken > 1 || this.#isForProcess) ? 'row' : undefined
  }
}

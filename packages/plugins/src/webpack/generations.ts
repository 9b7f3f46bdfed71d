/**
 * The generations of one compiler's entries. Each has a number, a digest (`identity.ts`) and its newest environment. The newest
 * few are kept; a generation replaces the one with the same place, which frees the space of its entries at once:
 *
 *   generation   0 1 2 3 4 5 6        kept: 3 4 5 6
 *   place        0 1 2 3 0 1 2        a namespace each
 *
 *   record:  `<generation> <digest> <id of the environment, hex> <inputs as JSON>`, a line each, the newest first
 */
import { type NamedDigests, readNamed } from './changes.ts'
import type { Identity } from './identity.ts'

/** How many generations are kept: for worktrees, branches and values of the option `version` that take turns. */
const KEPT = 4

/** Entries that were built in one environment, or in environments that followed each other while one process ran. */
export interface Generation {
  readonly generation: number
  readonly digest: string
  /** Id of the newest environment. */
  readonly id: string
  /** What the digest covers, for `varve why`. */
  readonly inputs: NamedDigests
}

/** The name and the version of namespaces. */
export interface EntriesName {
  readonly name: string
  readonly version: string
}

/** The name and version of the entries of a generation. */
export function entriesOf({ name, digest }: Identity, generation: number): EntriesName {
  const place = generation % KEPT
  return { name: place === 0 ? name : `${name} (${place + 1} of ${KEPT})`, version: `${digest} ${generation}` }
}

/** The number of a generation that is newer than all known ones. */
export function nextGeneration(known: readonly Generation[]): number {
  return known.reduce((next, { generation }) => Math.max(next, generation + 1), 0)
}

/** The newest generations; of two with one number, the first. */
export function encodeGenerations(all: readonly Generation[]): Buffer {
  const firsts = all.filter(
    ({ generation }, index) => all.findIndex((other) => other.generation === generation) === index,
  )
  const kept = firsts.toSorted((one, other) => other.generation - one.generation).slice(0, KEPT)
  return Buffer.from(kept.map(lineOf).join('\n'))
}

/** The generations in a record, without lines that are none. */
export function decodeGenerations(record: string): Generation[] {
  return record.split('\n', KEPT).flatMap((line) => {
    const [, generation, digest = '', id = '', inputs = ''] = /^(\d{1,12}) (\w+) (\w+) (.*)$/.exec(line) ?? []
    if (generation === undefined) return []
    return [
      {
        generation: Number(generation),
        digest,
        id: Buffer.from(id, 'hex').toString('latin1'),
        inputs: readNamed(inputs),
      },
    ]
  })
}

function lineOf({ generation, digest, id, inputs }: Generation): string {
  return `${generation} ${digest} ${Buffer.from(id, 'latin1').toString('hex')} ${JSON.stringify(inputs)}`
}

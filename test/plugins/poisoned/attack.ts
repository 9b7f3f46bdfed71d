/**
 * Builds from a poisoned cache. Each round plants another value in the place of every entry, builds, and compares with the
 * build without a cache: same files, same messages, nothing replayed of what was planted.
 */
import { join } from 'node:path'
import { expect } from 'vitest'
import { randomOf, runSeed } from '../../random.ts'
import { entriesOf, plant, type Stored } from './cache.ts'
import { spoiledRecord, spoiledResult } from './values.ts'

/** What a build came to. */
export interface Outcome {
  /** Files by name, or whatever is compared. */
  readonly files: Readonly<Record<string, string>>
  readonly messages: readonly string[]
  /** Calls answered from the cache. */
  readonly hits: number
}

/** A build in `folder`, with a cache in its folder `cache` or without. */
export type Build = (folder: string, isCached: boolean) => Promise<Outcome>

/** Values that are planted in the cache of each plugin. */
export const VALUES = 500

/** Every so many rounds the records of tasks are spoiled and not their results. */
const RECORDS_EVERY = 6

/** Messages of the cache about itself, which are not compared. */
const isOurs = (text: string): boolean => /the cache |is a miss/.test(text)

const compared = ({ files, messages }: Outcome): unknown => ({
  files,
  messages: messages.filter((text) => !isOurs(text)).sort(),
})

/** Attacks a plugin whose calls are tasks; `beat` is called as long as builds return. */
export async function attack(name: string, folder: string, build: Build, beat: () => void): Promise<void> {
  const random = randomOf(runSeed(`poisoned ${name}`))
  const dir = join(folder, 'cache')
  const wanted = compared(await build(folder, false))
  expect(compared(await build(folder, true))).toEqual(wanted)
  const warm = await build(folder, true)
  expect([compared(warm), warm.hits > 0]).toEqual([wanted, true])
  const before = new Map<string, Buffer>()
  for (let [planted, round] = [0, 1]; planted < VALUES; round++) {
    const isRecord = round % RECORDS_EVERY === 0
    const spoil = isRecord ? spoiledRecord : spoiledResult
    const entries = (await entriesOf(dir)).filter(({ namespace }) =>
      namespace.startsWith(isRecord ? 'task:' : 'result:'),
    )
    // A planted value that is still there belongs to a removed record.
    const stored = entries.filter(({ address, value }) => before.get(JSON.stringify(address))?.equals(value) !== true)
    const spoiled = stored.map((entry): Stored => ({ ...entry, value: spoil(random, entry.value) }))
    for (const { address, value } of spoiled) before.set(JSON.stringify(address), value)
    await plant(dir, spoiled)
    const built = await build(folder, true)
    expect(compared(built), `round ${round}`).toEqual(wanted)
    if (!isRecord)
      expect(built.hits, `round ${round}: spoiled results that were replayed, of ${spoiled.length}`).toBe(0)
    planted += spoiled.length
    beat()
  }
  expect(compared(await build(folder, true))).toEqual(wanted)
  expect((await build(folder, true)).hits).toBe(warm.hits) // what was spoiled is replaced
}

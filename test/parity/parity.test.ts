/**
 * Both engines on one cache: one writes, the other reads, compacts and adds entries, and the first one reads again. The same
 * history, run twice on one engine, writes the same files.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cache, type Namespace, openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import type { EngineName } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { type Random, randomOf, runSeed } from '../random.ts'
import { slow } from '../slow.ts'

const HISTORIES = 200
type Content = Map<string, string>

const NAMES = ['one', 'two']

async function open(dir: string, engine: EngineName): Promise<Cache> {
  // A record of a build has its time, so the files of two builds would differ.
  return openCache({ name: 'parity', dir, engine, history: 'never' })
}

function spaceOf(cache: Cache, name: string): Namespace<Uint8Array> {
  return cache.namespace(name, { version: '1' })
}

/** A value of any size and kind: empty, inline, shared, compressible, large. */
function randomValue(random: Random): Uint8Array {
  const length = [0, 5, 16, 100, 3000, 20_000][random(6)] ?? 0
  const spread = [1, 4, 256][random(3)] ?? 1
  return Uint8Array.from({ length }, () => random(spread))
}

/** Plays a random history; returns what must be in each namespace. */
async function play(dir: string, engine: EngineName, random: Random): Promise<Content[]> {
  const expected: Content[] = [new Map(), new Map()]
  let cache = await open(dir, engine)
  for (let step = 5 + random(40); step > 0; step--) {
    const which = random(2)
    const [space, content] = [spaceOf(cache, NAMES[which] ?? ''), expected[which] ?? new Map<string, string>()]
    const key = `key ${random(15)}`
    const action = random(12)
    if (action < 7) {
      const value = randomValue(random)
      space.put(key, value)
      content.set(key, Buffer.from(value).toString('base64'))
    } else if (action === 7) {
      space.delete(key)
      content.delete(key)
    } else if (action < 10) await cache.commit()
    else if (action === 10) await cache.compact({ full: random(2) === 0 })
    else {
      await cache.commit()
      await cache.close()
      cache = await open(dir, engine)
    }
  }
  await cache.commit()
  await cache.close()
  return expected
}

function contentOf(cache: Cache): Content[] {
  const text = (value: Uint8Array): string => Buffer.from(value).toString('base64')
  const found = NAMES.map((name) => [...spaceOf(cache, name).entries()])
  return found.map((entries) => new Map(entries.map(([key, value]): [string, string] => [String(key), text(value)])))
}

const sorted = (contents: Content[]): [string, string][][] => contents.map((content) => [...content].sort())

async function checkBothWays(seed: number): Promise<void> {
  const random = randomOf(seed)
  const [first, second]: EngineName[] = random(2) === 0 ? ['native', 'wasm'] : ['wasm', 'native']
  const dir = join(makeFolder(), 'cache')
  const expected = await play(dir, first ?? 'native', random)
  const other = await open(dir, second ?? 'wasm')
  expect(sorted(contentOf(other)), `seed ${seed}: read by ${second}`).toEqual(sorted(expected))
  spaceOf(other, 'one').put('added', Uint8Array.of(1))
  expected[0]?.set('added', 'AQ==')
  await other.commit()
  await other.compact({ full: true })
  expect(sorted(contentOf(other)), `seed ${seed}: compacted by ${second}`).toEqual(sorted(expected))
  await other.close()
  const again = await open(dir, first ?? 'native')
  expect(sorted(contentOf(again)), `seed ${seed}: read again by ${first}`).toEqual(sorted(expected))
  expect((await again.verify()).sound).toBe(true)
  await again.close()
}

/** The tables of a folder, whatever their names. */
function tablesOf(dir: string): string[] {
  const names = readdirSync(join(dir, 'v1')).filter((name) => name.endsWith('.table'))
  return names.map((name) => readFileSync(join(dir, 'v1', name)).toString('base64')).sort()
}

describe('parity', () => {
  it(`${HISTORIES} histories are read, compacted and read again by the other engine`, slow, async () => {
    const seed = runSeed('parity')
    for (let history = 0; history < HISTORIES; history++) await checkBothWays(seed + history)
  })

  it.each(['native', 'wasm'] as const)('the same history writes the same bytes: %s', async (engine) => {
    const seed = runSeed('canonical')
    for (let history = 0; history < 15; history++) {
      const tables = []
      for (const round of [1, 2]) {
        const dir = join(makeFolder(), `round-${round}`)
        await play(dir, engine, randomOf(seed + history))
        const cache = await open(dir, engine)
        await cache.compact({ full: true })
        await cache.close()
        tables.push(tablesOf(dir))
      }
      expect(tables[0], `seed ${seed + history}`).toEqual(tables[1])
    }
  })
})

/** Many processes use one cache at the same time: no acknowledged commit is lost, and few files remain. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { randomOf, runSeed } from '../random.ts'
import { slow } from '../slow.ts'
import { Writer } from './processes.ts'

const FILES_MAX = 16
const ENGINES = ['native', 'native', 'wasm', 'wasm'] as const

async function missingOf(dir: string, engine: 'native' | 'wasm', acknowledged: readonly string[]): Promise<string[]> {
  const cache = await openCache({ name: 'writers', dir, engine })
  const space = cache.namespace('n', { codec: 'text' })
  const missing = acknowledged.filter((key) => space.get(key) !== `value ${key.split(' ')[1]}`)
  await cache.close()
  return missing
}

const keysOf = (writer: Writer): string[] => writer.acknowledged.map((number) => `${writer.name} ${number}`)

describe('many writers', () => {
  it.each(['native', 'wasm'] as const)(
    '4 processes make 200 commits each while a fifth (%s) compacts, and none is lost',
    slow,
    async (compactor) => {
      const dir = join(makeFolder(), 'cache')
      const writers = ENGINES.map((engine, index) => new Writer(dir, engine, `w${index}`))
      const fifth = new Writer(dir, compactor, 'compactor')
      await Promise.all([...writers, fifth].map((writer) => writer.heard('ready')))
      fifth.tell('compact')
      const done = writers.map((writer) => writer.heard('done'))
      for (const writer of writers) writer.tell('commit 0 200')
      await Promise.all(done)
      await Promise.all([...writers, fifth].map((writer) => writer.end()))
      const acknowledged = writers.flatMap(keysOf)
      expect(acknowledged.length).toBe(800)
      for (const engine of ['native', 'wasm'] as const) expect(await missingOf(dir, engine, acknowledged)).toEqual([])
      expect(readdirSync(join(dir, 'v1')).length).toBeLessThanOrEqual(FILES_MAX)
    },
  )

  it('100 rounds of kill -9 lose no acknowledged commit', { ...slow, timeout: 600_000 }, async () => {
    const random = randomOf(runSeed('kills'))
    const dir = join(makeFolder(), 'cache')
    const acknowledged: string[] = []
    let started = 0
    const start = (index: number): Writer => new Writer(dir, ENGINES[index] ?? 'native', `w${index}-${started++}`)
    const writers = ENGINES.map((_, index) => start(index))
    await Promise.all(writers.map((writer) => writer.heard('ready')))
    for (let round = 0; round < 100; round++) {
      const victim = random(4)
      const killed = writers[victim] ?? start(victim)
      const done = writers.filter((writer) => writer !== killed).map((writer) => writer.heard('done'))
      if (random(3) === 0) writers[random(4)]?.tell('compact')
      for (const writer of writers) writer.tell(`commit ${round * 40} ${writer === killed ? 10_000 : 10 + random(30)}`)
      await new Promise((resolve) => setTimeout(resolve, random(40)))
      await killed.kill()
      await Promise.all(done)
      acknowledged.push(...keysOf(killed))
      writers[victim] = start(victim)
      await writers[victim]?.heard('ready')
      const known = round % 10 === 9 ? [...acknowledged, ...writers.flatMap(keysOf)] : []
      expect(await missingOf(dir, random(2) === 0 ? 'native' : 'wasm', known), `round ${round}`).toEqual([])
    }
    await Promise.all(writers.map((writer) => writer.end()))
    acknowledged.push(...writers.flatMap(keysOf))
    expect(acknowledged.length).toBeGreaterThan(1000)
    for (const engine of ['native', 'wasm'] as const) expect(await missingOf(dir, engine, acknowledged)).toEqual([])
    const cache = await openCache({ name: 'writers', dir, engine: 'native' })
    expect((await cache.verify()).damage).toEqual([])
    await cache.compact({ full: true })
    await cache.close()
    expect(readdirSync(join(dir, 'v1')).length).toBeLessThanOrEqual(FILES_MAX)
  })

  it.each([
    ['native', 1, 1000],
    ['wasm', 1, 1000],
    ['native', 1, 10_000],
    ['native', 1000, 1],
    ['wasm', 300, 1],
  ] as const)('%s: %i times open and close with %i commits leave few files', slow, async (engine, times, commits) => {
    const dir = join(makeFolder(), 'cache')
    for (let time = 0; time < times; time++) {
      const cache = await openCache({ name: 'writers', dir, engine })
      const space = cache.namespace('n', { codec: 'text' })
      for (let number = 0; number < commits; number++) {
        space.put(`${time} ${number}`, `value ${number}`)
        await cache.commit()
      }
      await cache.close()
    }
    expect(readdirSync(join(dir, 'v1')).length).toBeLessThanOrEqual(FILES_MAX)
    const last = Array.from({ length: times }, (_, time) => `${time} ${commits - 1}`)
    expect(await missingOf(dir, engine, last)).toEqual([])
  })
})

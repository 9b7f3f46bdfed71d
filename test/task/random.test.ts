/**
 * Random histories of a project, a task that reads it, and a cache that is committed, reopened and compacted in between: a
 * run never gives anything but what the work would give now.
 */
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cache, openCache, type Task, type TaskContext } from 'varve'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { type Random, randomOf, runSeed } from '../random.ts'

const FILES = ['a', 'b', 'c', 'd']
const VARIABLE = 'VARVE_TEST_RANDOM'
const STEPS = 1500

const seed = runSeed('task histories')

/** A file names the next one, if any: `content -> name`. */
function contentOf(random: Random): string {
  const next = random(3) === 0 ? '' : ` -> ${FILES[random(FILES.length)] ?? ''}`
  return `${random(3)}${next}`
}

class World {
  readonly root: string = makeFolder()
  readonly engine: 'native' | 'wasm'
  readonly random: Random
  input = 'x'

  constructor(engine: 'native' | 'wasm', random: Random) {
    this.engine = engine
    this.random = random
  }

  open(): Promise<Cache> {
    return openCache({ name: 'random', dir: join(this.root, 'cache'), engine: this.engine })
  }

  read(name: string): string | undefined {
    try {
      return readFileSync(join(this.root, name), 'utf8')
    } catch {
      return undefined
    }
  }

  /** What the work gives: the input, the variable, and the files from `a` on, each by the name in the one before. */
  result(context?: TaskContext): string {
    const parts = [this.input, String(context === undefined ? process.env[VARIABLE] : context.addEnv(VARIABLE))]
    for (let name: string | undefined = 'a', left = 4; name !== undefined && left > 0; left--) {
      const content = this.read(name)
      if (this.random(2) === 0) context?.addFile(name)
      else context?.addFile(name, content)
      parts.push(`${name}=${content}`)
      name = content?.split(' -> ')[1]
    }
    return parts.join(';')
  }

  change(): void {
    const name = join(this.root, FILES[this.random(FILES.length)] ?? 'a')
    const action = this.random(6)
    if (action <= 2) writeFileSync(name, contentOf(this.random))
    else if (action === 3) rmSync(name, { force: true })
    else if (action === 4 && this.read(FILES[0] ?? '') !== undefined)
      utimesSync(join(this.root, 'a'), 1e9 + this.random(3), 1e9 + this.random(3))
    else this.changeOther()
  }

  changeOther(): void {
    if (this.random(2) === 0) this.input = 'xyz'[this.random(3)] ?? 'x'
    else if (this.random(3) === 0) delete process.env[VARIABLE]
    else process.env[VARIABLE] = String(this.random(2))
  }
}

async function play(world: World): Promise<{ hits: number; misses: number }> {
  let cache = await world.open()
  let task: Task<string> = cache.task('random', { root: world.root, codec: 'text' })
  const counts = { hits: 0, misses: 0 }
  const count = (): void => {
    counts.hits += task.stats().hits
    counts.misses += task.stats().misses
  }
  for (let step = 0; step < STEPS; step++) {
    if (world.random(3) === 0) world.change()
    if (world.random(50) === 0) await new Promise((resolve) => setTimeout(resolve, 25))
    const files = world.random(2) === 0 ? ['a'] : []
    const expected = world.result()
    const found = await task.run({ id: 'id', inputs: { input: world.input }, files, env: [VARIABLE] }, (context) =>
      world.result(context),
    )
    expect(found, `step ${step}`).toBe(expected)
    if (world.random(20) === 0) await cache.commit()
    if (world.random(200) === 0) await cache.compact({ full: true })
    if (world.random(100) !== 0) continue
    count()
    await cache.close()
    cache = await world.open()
    task = cache.task('random', { root: world.root, codec: 'text' })
  }
  count()
  await cache.close()
  return counts
}

describe.each(['native', 'wasm'] as const)('random histories of a task: %s', (engine) => {
  it('a task never returns a stale result, after any random history', async () => {
    const { hits, misses } = await play(new World(engine, randomOf(seed)))
    // Not vacuous: both happen.
    expect([hits > STEPS / 10, misses > STEPS / 50]).toEqual([true, true])
    delete process.env[VARIABLE]
  })
})

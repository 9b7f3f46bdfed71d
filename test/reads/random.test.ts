/**
 * Random plugins that read random files, lists and variables, and random changes between runs, of one cache or of several: a task
 * that tracks reads always returns what its work would. Prints its seed; VARVE_SEED repeats it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openCache } from 'varve'
import { makeFolder } from '../folders.ts'
import { pick, type Random, randomOf, runSeed } from '../random.ts'

const HISTORIES = 12
const STEPS = 12
const RUNS = 4
const NAMES = ['a', 'b', 'c', 'd/e', 'd/f']
const VARIABLES = ['RANDOM_READ_A', 'RANDOM_READ_B']

type Read = (root: string) => unknown

const KINDS: readonly ((name: string, variable: string) => Read)[] = [
  (name) => (root) => attempt(() => readFileSync(join(root, name), 'utf8')),
  (name) => (root) => existsSync(join(root, name)),
  (name) => (root) => attempt(() => statSync(join(root, name)).isDirectory()),
  () => (root) => attempt(() => readdirSync(join(root, 'd')).sort()),
  () => (root) => attempt(() => readdirSync(join(root, 'd'), { recursive: true, encoding: 'utf8' }).sort()),
  (_, variable) => () => process.env[variable],
  (_, variable) => () => variable in process.env,
]

function attempt(work: () => unknown): unknown {
  try {
    return work()
  } catch {
    return 'failed'
  }
}

function change(random: Random, root: string): void {
  const path = join(root, pick(random, NAMES))
  const variable = pick(random, VARIABLES)
  const changes = [
    () => attempt(() => writeFileSync(path, String(random(3)))),
    () => rmSync(path, { force: true, recursive: true }),
    () => (process.env[variable] = String(random(2))),
    () => delete process.env[variable],
    () => mkdirSync(join(root, 'd'), { recursive: true }),
    () => (rmSync(path, { force: true, recursive: true }), attempt(() => mkdirSync(path))),
    () => attempt(() => renameSync(path, join(root, pick(random, NAMES)))),
    () => undefined,
  ]
  pick(random, changes)()
}

it('what a cached task returns is what its work would return, whatever it reads and whatever changes', async () => {
  const random = randomOf(runSeed('reads'))
  let hits = 0
  for (let history = 0; history < HISTORIES; history++) {
    const root = makeFolder()
    mkdirSync(join(root, 'd'))
    const works = Array.from({ length: 3 }, () => {
      const reads = Array.from({ length: 1 + random(4) }, () =>
        pick(random, KINDS)(pick(random, NAMES), pick(random, VARIABLES)),
      )
      return (): string => JSON.stringify(reads.map((read) => read(root)))
    })
    for (let step = 0; step < STEPS; step++) {
      change(random, root)
      const cache = await openCache({ name: 'random', dir: join(root, 'cache') })
      const task = cache.task('work', { root, codec: 'text', trackReads: true })
      for (let run = 0; run < RUNS; run++) {
        const index = random(works.length)
        const work = works[index] ?? String
        if (random(3) === 0) change(random, root)
        if (random(5) === 0) await cache.commit()
        expect(await task.run({ id: `id-${index}` }, work)).toBe(work())
      }
      hits += task.stats().hits
      await cache.close()
    }
  }
  for (const name of VARIABLES) delete process.env[name]
  expect(hits).toBeGreaterThan(0)
})

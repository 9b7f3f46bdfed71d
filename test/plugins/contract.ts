/**
 * What every adapter promises, through the tool it is for: a second process hits, on either engine; damage is a miss;
 * processes that write at the same time lose nothing; another version misses.
 *
 * The program of the tool reads `count` values from number `first` on, makes the missing ones, and counts both.
 */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'
import { damage, keepFolder, runProgram } from './programs.ts'

/** What a program is to do. */
interface Order {
  readonly options: { readonly dir: string; readonly engine?: 'native' | 'wasm'; readonly version?: string }
  readonly first?: number
  readonly count?: number
}

/** The result. */
interface Counts {
  readonly hits: number
  readonly misses: number
  /** Values that are not what was put. */
  readonly wrong: number
}

const COUNT = 40
const ROUNDS = 6

/** Runs the promises with a tool's program. */
export function adapterContract(program: string): void {
  const run = (order: Order, nodeArgs: string[] = []): Promise<Counts> =>
    runProgram(program, { first: 0, count: COUNT, ...order }, { nodeArgs })
  const all = { hits: COUNT, misses: 0, wrong: 0 }
  const none = { hits: 0, misses: COUNT, wrong: 0 }

  describe('in processes of their own', () => {
    it('a second process hits, on either engine', async () => {
      for (const nodeArgs of [[], ['--no-addons']]) {
        const options = { dir: makeFolder() }
        expect(await run({ options }, nodeArgs)).toEqual(none)
        expect(await run({ options })).toEqual(all)
        expect(await run({ options }, ['--no-addons'])).toEqual(all)
      }
    })

    it('damage is a miss, and the next run replaces the entry', slow, async () => {
      const dir = makeFolder()
      const options = { dir }
      await run({ options })
      const restore = keepFolder(dir, join(makeFolder(), 'kept'))
      let missed = 0
      for (let round = 0; round < ROUNDS; round++) {
        restore()
        expect(damage(dir, (round + 0.5) / ROUNDS)).toBeGreaterThan(0)
        const nodeArgs = round % 2 === 0 ? [] : ['--no-addons']
        const damaged = await run({ options }, nodeArgs)
        expect(damaged, `round ${round}`).toMatchObject({ wrong: 0, hits: COUNT - damaged.misses })
        expect(await run({ options }), `round ${round}, again`).toEqual(all)
        missed += damaged.misses
      }
      expect(missed).toBeGreaterThan(0) // else nothing was damaged
    })

    it('four concurrent processes on both engines lose nothing', slow, async () => {
      const options = { dir: makeFolder() }
      const firsts = [0, COUNT, 2 * COUNT, 3 * COUNT]
      await Promise.all(firsts.map((first, index) => run({ options, first }, index % 2 === 0 ? [] : ['--no-addons'])))
      expect(await run({ options, count: 4 * COUNT })).toEqual({ hits: 4 * COUNT, misses: 0, wrong: 0 })
    })

    it('an adapter with another version misses', slow, async () => {
      const dir = makeFolder()
      await run({ options: { dir, version: '1' } })
      expect(await run({ options: { dir, version: '2' } })).toEqual(none)
      expect(await run({ options: { dir, version: '2' } })).toEqual(all)
    })
  })
}

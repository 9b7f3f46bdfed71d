/** Which inputs are the same, and which are not. */
import { describe, expect, it } from 'vitest'
import { Counted, type Subject, withCache } from './subject.ts'

/** Values of which each differs from each. */
const DIFFERENT: readonly unknown[] = [
  '',
  'a',
  '1',
  1,
  1.5,
  true,
  'true',
  null,
  'null',
  undefined,
  Number.NaN,
  new Uint8Array(0),
  new Uint8Array([0x61]),
  [],
  [undefined],
  [null],
  ['a', 'b'],
  ['a,b'],
  ['b', 'a'],
  {},
  { a: 1 },
  { a: '1' },
  { a: { b: 1 } },
  { 'a.b': 1 },
  { ['__proto__']: 1 },
  { a: 1, b: 2 },
  10n,
  '\ud800',
  '\ud801',
  '\ufffd',
  { a: '\ud800' },
  { a: '\ud801' },
  { bytes: new Uint8Array([1]) },
  { bytes: new Uint8Array([2]) },
]

export function inputsContract(subject: Subject): void {
  describe('inputs', () => {
    it('different inputs miss and equal inputs hit, also after reopening', async () => {
      const project = subject.project()
      const numbers = await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root, { variants: 100 })
        const made = []
        for (const value of DIFFERENT) made.push(await counted.run({ inputs: { value } }))
        await cache.commit()
        return made
      })
      expect(numbers).toEqual(DIFFERENT.map((_, index) => index + 1))
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root, { variants: 100 })
        const again = []
        for (const value of DIFFERENT) again.push(await counted.run({ inputs: { value: structuredClone(value) } }))
        expect([again, counted.count]).toEqual([numbers, 0])
      })
    })

    it('names of inputs count and their order does not, also for keys of objects', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root, { variants: 10 })
        expect(await counted.run({ inputs: { one: 'x', two: { a: 1, b: { c: 2, d: 3 } } } })).toBe(1)
        expect(await counted.run({ inputs: { two: { b: { d: 3, c: 2 }, a: 1 }, one: 'x' } })).toBe(1)
        expect(await counted.run({ inputs: { one: 'x', three: { a: 1, b: { c: 2, d: 3 } } } })).toBe(2)
        expect(await counted.run({ inputs: { one: 'x' } })).toBe(3)
        expect(await counted.run({ inputs: { ['__proto__']: 'x' } })).toBe(4)
        expect(await counted.run({})).toBe(5)
        expect(await counted.run({ id: 'other', inputs: { one: 'x' } })).toBe(6)
      })
    })

    it('inputs of the whole task count like other inputs', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const minified = new Counted(cache, project.root, { inputs: { options: { minify: true }, zoom: 1 } })
        expect(await minified.run({ inputs: { source: 'a' } })).toBe(1)
        const plain = new Counted(cache, project.root, { inputs: { options: { minify: false }, zoom: 1 } })
        plain.count = 10
        expect(await plain.run({ inputs: { source: 'a' } })).toBe(11)
        expect(await minified.run({ inputs: { source: 'a' } })).toBe(1)
        expect(
          await plain.run({ inputs: { source: 'a', options: { minify: false } } }).catch((error: unknown) => error),
        ).toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining("'options'"),
        })
        const flat = new Counted(cache, project.root)
        flat.count = 20
        expect(await flat.run({ inputs: { source: 'a', options: { minify: true }, zoom: 1 } })).toBe(1)
      })
    })

    it.each([
      ['a function', { config: { plugins: [() => 1] } }, 'config.plugins[0]'],
      ['a RegExp', { config: /a/ }, 'config'],
      ['a Map', { config: { deep: new Map() } }, 'config.deep'],
      ['a symbol', { config: Symbol('a') }, 'config'],
    ])('refuse values that JSON would not distinguish: %s', async (what, inputs, place) => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const refused = { code: 'INVALID_ARGUMENT', message: expect.stringContaining(`'${place}' is ${what}`) }
        await expect(counted.run({ inputs })).rejects.toMatchObject(refused)
        expect(counted.count).toBe(0)
      })
    })

    it('a cycle in inputs is refused', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const cycle: Record<string, unknown> = {}
        cycle['self'] = cycle
        await expect(new Counted(cache, project.root).run({ inputs: { cycle } })).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
        })
      })
    })
  })

  describe('environment', () => {
    it('an environment variable that is named or read is checked, and unset differs from empty', async () => {
      const project = subject.project()
      const set = (name: string, value: string | undefined): void => {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root, { variants: 10 })
        const run = (named: string | undefined, read: string | undefined): Promise<number> => {
          set('VARVE_TEST_NAMED', named)
          set('VARVE_TEST_READ', read)
          return counted.run({ env: ['VARVE_TEST_NAMED'] }, (context) =>
            expect(context.addEnv('VARVE_TEST_READ')).toBe(read),
          )
        }
        const states = [
          [undefined, undefined],
          ['', undefined],
          ['a', undefined],
          ['a', 'b'],
          [undefined, 'b'],
        ] as const
        for (const round of [1, 2]) {
          for (const [index, [named, read]] of states.entries())
            expect(await run(named, read), `round ${round}`).toBe(index + 1)
        }
        set('VARVE_TEST_NAMED', undefined)
        set('VARVE_TEST_READ', undefined)
        expect(await counted.run({ env: ['VARVE_TEST_NAMED', 'VARVE_TEST_OTHER'] })).toBe(6)
      })
    })
  })

  describe('an environment that changes', () => {
    it.each(['asked for', 'added'])(
      'a variable that changes while the work runs: the result is stored under its old value (%s)',
      async (how) => {
        const project = subject.project()
        await withCache(subject, project, async (cache) => {
          const task = cache.task('read', { root: project.root, codec: 'text' })
          const env = how === 'added' ? [] : ['VARVE_TEST_LATE']
          const run = (change?: string): Promise<string> =>
            task.run({ id: 'id', env }, (context) => {
              if (how === 'added') context.addEnv('VARVE_TEST_LATE')
              process.env['VARVE_TEST_LATE'] = change ?? process.env['VARVE_TEST_LATE']
              return String(process.env['VARVE_TEST_LATE'])
            })
          process.env['VARVE_TEST_LATE'] = 'one'
          expect(await run('two')).toBe('two')
          process.env['VARVE_TEST_LATE'] = 'one'
          expect(await run()).toBe('one')
          delete process.env['VARVE_TEST_LATE']
        })
      },
    )
  })

  describe('inputs added while running', () => {
    it('inputs added during a run are compared before the result is used again', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        let browsers = 'chrome 1'
        const asked: string[] = []
        const findInput = async (name: string, id: string): Promise<string> => {
          asked.push(`${name} of ${id}`)
          return browsers
        }
        const counted = new Counted(cache, project.root, { findInput })
        const run = (): Promise<number> => counted.run({}, (context) => context.addInput('browserslist', browsers))
        expect([await run(), await run()]).toEqual([1, 1])
        expect(asked).toEqual(['browserslist of id'])
        browsers = 'chrome 2'
        expect([await run(), await run()]).toEqual([2, 2])
        browsers = 'chrome 1'
        expect(await run()).toBe(1)
      })
    })

    it('an input added during a run is a miss if it cannot be resolved, and refused without a resolver', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const findInput = (): never => {
          throw new Error('no such thing')
        }
        const lost = new Counted(cache, project.root, { findInput })
        const add = (context: { addInput(name: string, value: unknown): void }): void => context.addInput('x', 1)
        expect([await lost.run({}, add), await lost.run({}, add)]).toEqual([1, 2])
        const without = new Counted(cache, project.root)
        await expect(without.run({}, add)).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('findInput'),
        })
      })
    })
  })
}

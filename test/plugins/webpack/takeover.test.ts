/** Instead of `cache: { type: 'filesystem' }`: the same output, cold and warm, for projects in the manner of webpack's examples. */
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { slow } from '../../slow.ts'
import { PROJECTS, writeProject } from './projects.ts'
import { type Built, build } from './runner.ts'

const names = Object.keys(PROJECTS)

/** What each project came to, in the order of `names`; each list is one process. */
const built: Record<string, Built[]> = {}

async function buildAll(
  title: string,
  folder: string,
  cache: 'none' | 'webpack' | 'varve',
  engine: string,
): Promise<void> {
  const orders = names.map((_, index) => ({ folder: join(folder, String(index)), cache }))
  built[title] = await build(orders, { VARVE_ENGINE: engine })
}

beforeAll(async () => {
  const folder = makeFolder()
  names.forEach((name, index) => writeProject(join(folder, String(index)), PROJECTS[name] ?? { config: '', files: {} }))
  await buildAll('no cache', folder, 'none', 'auto')
  for (const round of ['cold', 'warm']) {
    await buildAll(`webpack's, ${round}`, folder, 'webpack', 'auto')
    await buildAll(`native, ${round}`, folder, 'varve', 'native')
  }
  await buildAll('WebAssembly, warm', folder, 'varve', 'wasm')
}, 240_000)

describe.each(names.map((name, index) => [name, index] as const))('%s', slow, (_name, index) => {
  const of = (title: string): Built | undefined => built[title]?.[index]

  it('the output, the warnings and the errors are those of a build without a cache', () => {
    const expected = of('no cache')
    expect(Object.keys(expected?.files ?? {}).length).toBeGreaterThan(0)
    expect(expected?.errors).toEqual([])
    for (const title of Object.keys(built)) {
      const found = of(title)
      expect([title, found?.files, found?.warnings, found?.errors]).toEqual([
        title,
        expected?.files,
        expected?.warnings,
        [],
      ])
    }
  })

  it('the second process builds no module that webpack would take from its own cache, on either engine', () => {
    for (const title of ['native, warm', 'WebAssembly, warm']) {
      const found = of(title)
      expect([title, found?.complaints, found?.skipped]).toEqual([title, [], 0])
      expect([title, found?.built, found?.taken]).toEqual([
        title,
        of("webpack's, warm")?.built,
        of("webpack's, warm")?.taken,
      ])
    }
  })
})

it('at least 95 % of the lookups of the second process hit', slow, () => {
  for (const title of ['native, warm', 'WebAssembly, warm']) {
    const sum = (of: (one: Built) => number): number => (built[title] ?? []).reduce((total, one) => total + of(one), 0)
    const hits = sum((one) => one.hits)
    expect(hits / (hits + sum(({ misses }) => misses))).toBeGreaterThanOrEqual(0.95)
  }
})

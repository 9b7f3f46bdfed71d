/** What `varve view` finds in a cache: exact sums on both engines, in bounded memory, and the same as the commands report. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache, type Stats } from 'varve'
import type { TreeJson } from 'varve/cli-json'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type * as sources from '../../packages/varve/src/cli/view.ts'
import type * as trees from '../../packages/varve/src/cli/view/tree.ts'
import type * as records from '../../packages/varve/src/task/record.ts'
import { makeCache } from '../../scripts/screenshots/cache.mjs'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'

const of = (name: string): string => new URL(`../../packages/varve/src/cli/${name}.ts`, import.meta.url).href
const { ViewSource }: typeof sources = await import(of('view'))
const { placesOf, Tree }: typeof trees = await import(of('view/tree'))
const { newestIn }: typeof records = await import(
  new URL('../../packages/varve/src/task/record.ts', import.meta.url).href
)

const CONTROL = { signal: undefined, onProgress: undefined }

function partOf(tree: TreeJson, ...names: readonly string[]): TreeJson | undefined {
  const [name, ...below] = names
  const part = tree.parts?.find((each) => each.name === name)
  return part === undefined || below.length === 0 ? part : partOf(part, ...below)
}

const bytesOf = ({ namespaces }: Stats, prefix = ''): number =>
  namespaces
    .filter(({ name }) => name.startsWith(prefix))
    .reduce((sum, { keyBytes, valueBytes }) => sum + keyBytes + valueBytes, 0)

describe('the newest variant of a record, found without parsing it', () => {
  const trap = '"timeMs":9999999999999,"workMs":7'
  const variant = {
    inputs: ['source', trap],
    added: [],
    env: [trap, ''],
    files: [[trap, trap, 1, 1.5, 1]],
    result: trap,
  }
  const newestOf = (...made: readonly object[]): unknown =>
    newestIn(JSON.stringify(made.map((each) => ({ ...variant, ...each }))))

  it('has the time and the cost of the parsed record, whatever the texts of the record contain', () => {
    const newest = { timeMs: 1_795_257_075_000.25, workMs: 1e-7 }
    expect(newestOf({ timeMs: 1, workMs: 5 }, { ...newest, why: trap }, { timeMs: 2 })).toEqual(newest)
    expect(newestOf({ timeMs: 3, result: '' }, { timeMs: 2, workMs: 9 })).toEqual({ timeMs: 3, workMs: 0 })
  })

  it('of other values is none, or has a cost that can be added', () => {
    for (const value of ['', '[]', '"timeMs"', JSON.stringify(trap)]) expect(newestIn(value)).toBeUndefined()
    expect(newestIn('{"timeMs":null}')).toEqual({ timeMs: 0, workMs: 0 })
    expect(newestIn('{"timeMs":1,"workMs":1e999}')).toEqual({ timeMs: 1, workMs: 0 })
    expect(newestIn('{"timeMs":"1","workMs":...}')).toEqual({ timeMs: 0, workMs: 0 })
  })
})

describe.each(ENGINES)('varve view on %s', (engine) => {
  beforeEach(() => void (process.env['VARVE_ENGINE'] = engine))
  afterEach(() => void delete process.env['VARVE_ENGINE'])

  it('the sums of all entries are those of stats, and each level adds up', async () => {
    const folder = makeFolder()
    const dir = await makeCache(folder, { engine, builds: 3 })
    const source = new ViewSource(dir, folder)
    const {
      caches: [cache],
    } = await source.overview()
    const { tree } = await source.contents(dir, CONTROL)
    expect(cache).toMatchObject({ engine, dir })
    const { namespaces } = cache?.stats ?? { namespaces: [] }
    expect(tree).toMatchObject({
      entries: namespaces.reduce((sum, { entries }) => sum + entries, 0),
      bytes: cache && bytesOf(cache.stats),
    })
    const sums = (node: TreeJson): void => {
      if (node.parts === undefined) return
      for (const sum of ['entries', 'bytes'] as const)
        expect(node.parts.reduce((all, part) => all + part[sum], 0)).toBe(node[sum])
      node.parts.forEach(sums)
    }
    sums(tree)
    expect(partOf(tree, 'resolve')).toMatchObject({ entries: 3, bytes: cache && bytesOf(cache.stats, 'resolve') })
    expect(partOf(tree, 'task:transform', 'react-dom')?.parts?.length).toBe(4)
    expect(partOf(tree, 'task:transform', 'src/pages/')?.workMs).toBeGreaterThan(0)
  })

  it('the results that the last build made are its misses, grouped by what changed', async () => {
    const folder = makeFolder()
    const dir = await makeCache(folder, { engine, builds: 3 })
    const source = new ViewSource(dir, folder)
    const {
      caches: [cache],
    } = await source.overview()
    const { made } = await source.contents(dir, CONTROL)
    expect(made.count).toBe(cache?.builds[0]?.misses)
    const reasons = [
      ['input mode development -> production', 25],
      ['its own file changed', 4],
    ]
    expect(made.reasons.map(({ reason, count }) => [reason, count])).toEqual(reasons)
    const own = made.reasons[1]?.results[0]
    expect(own?.differences).toEqual([expect.objectContaining({ kind: 'file', name: own?.id })])
  })

  it('why reports what a result depends on, and what differs now', async () => {
    const folder = makeFolder()
    const dir = await makeCache(folder, { engine, builds: 1 })
    const id = 'src/pages/part-0.js'
    const source = new ViewSource(dir, folder)
    const [held] = await source.why(dir, [{ id }])
    expect(held?.variants[0]).toMatchObject({ holds: true, inputs: [{ name: 'mode' }], env: [], files: [{ name: id }] })
    writeFileSync(join(folder, id), 'another content')
    const [changed] = await source.why(dir, [{ id, task: 'transform' }])
    expect(changed?.variants[0]).toMatchObject({ holds: false, differences: [{ kind: 'file', name: id }] })
    expect(await source.why(dir, [{ id, task: 'other' }])).toEqual([])
  })

  it('a cache is read while its page is open, and a directory that is none of its caches is refused', async () => {
    const folder = makeFolder()
    const dir = await makeCache(folder, { engine, builds: 1 })
    const source = new ViewSource(dir, folder)
    await expect(source.contents(folder, CONTROL)).rejects.toMatchObject({ code: 'NOT_A_CACHE' })
    const before = await source.contents(dir, CONTROL)
    const cache = await openCache({ name: 'bundler', dir })
    cache.namespace('more').put('key', new Uint8Array(9))
    await cache.close()
    expect((await source.contents(dir, CONTROL)).tree.entries).toBe(before.tree.entries + 1)
  })
})

describe('the tree of varve view', () => {
  it('a tree with too many names keeps its sums and its heaviest parts', () => {
    const tree = new Tree(5000)
    const entries = Array.from({ length: 50_000 }, (_, key): [string, string, trees.Weight] => {
      return [`directory-${key % 10_000}`, `module-${key}`, { entries: 1, bytes: 10, workMs: 1 }]
    })
    entries.push(
      ['large', 'one', { entries: 1, bytes: 1_000_000, workMs: 0 }],
      ['slow', 'one', { entries: 1, bytes: 0, workMs: 1_000_000 }],
    )
    for (const [parent, , weight] of entries) tree.add('a', parent, weight)
    tree.choose()
    for (const [parent, module, weight] of entries) tree.addModule('a', parent, module, weight)
    const json = tree.toJson()
    expect(json).toMatchObject({ entries: 50_002, bytes: 1_500_000, workMs: 1_050_000 })
    const parts = json.parts?.[0]?.parts ?? []
    expect([parts.length, parts[0]?.name, parts.some(({ name }) => name === 'slow'), parts.at(-1)?.name]).toEqual([
      61,
      'large',
      true,
      null,
    ])
    expect(parts.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(1_500_000)
    for (const { bytes, parts: modules = [] } of parts.slice(0, -1))
      expect(modules.reduce((sum, each) => sum + each.bytes, 0)).toBe(bytes)
    expect(JSON.stringify(json).length).toBeLessThan(200_000)
  })

  it.each([
    [
      'result:babel',
      'node_modules/.pnpm/a/node_modules/@a/b/c.js\0digest',
      ['@a/b', 'node_modules/.pnpm/a/node_modules/@a/b/c.js'],
    ],
    [
      'task:babel',
      String.raw`C:\p\node_modules\left-pad\index.js`,
      ['left-pad', String.raw`C:\p\node_modules\left-pad\index.js`],
    ],
    ['plain', 'src/file.js', ['src/', 'src/file.js']],
    [
      'reads:babel',
      'src/deep/er/file.vue?type=style&src=a/b',
      ['src/deep/', 'src/deep/er/file.vue?type=style&src=a/b'],
    ],
    ['result:babel', '\0virtual\0digest', ['.', '\0virtual']],
    ['plain', 'node_modules/', ['node_modules/', 'node_modules/']],
    ['plain', new Uint8Array([0xff, 0x41]), ['.', String.raw`\xffA`]],
  ])('the place of a key in %s: %s', (namespace, key, expected) => {
    expect(placesOf(namespace)(key)).toEqual(expected)
  })
})

it('the page is at most 150 KB gzipped', async () => {
  const { gzipSync } = await import('node:zlib')
  const read = (path: string): Buffer => readFileSync(new URL(`../../packages/view/${path}`, import.meta.url))
  const bytes = gzipSync(Buffer.concat([read('dist/bundle/page.js'), read('page.css')])).length
  expect(bytes).toBeGreaterThan(5000)
  expect(bytes).toBeLessThan(150_000)
})

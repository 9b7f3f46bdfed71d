/** Large values: decided before they are serialised, never joined, and never trusted when they are read. */
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { VarveWebpackStats } from '@varve/plugins/webpack'
import { describe, expect, it } from 'vitest'
import webpack, { type Compiler, type Configuration } from 'webpack'
import { Root } from '../../../packages/plugins/dist/build/root.js'
import {
  contentLengths,
  decodePack,
  encodePack,
  VALUE_BYTES_MAX,
  weightOf,
} from '../../../packages/plugins/dist/webpack/contents.js'
import { SourceHashes } from '../../../packages/plugins/dist/webpack/source-hashes.js'
import { ValueCodec } from '../../../packages/plugins/dist/webpack/value.js'
import { type Target, Writing } from '../../../packages/plugins/dist/webpack/writing.js'
import { makeFolder } from '../../folders.ts'
import { buildOnce } from './compile.ts'

const MIB = 1 << 20
const codec = new ValueCodec(webpack, new Root('/project'))
const { CachedSource, RawSource } = webpack.sources

/** Packs that note what they write; `refuse` selects the values that they cannot write. */
function target(asked: string[][], refuse: (identifiers: string[]) => boolean): Target {
  const write = async (_: string, items: readonly { identifier: string }[]): Promise<number | undefined> => {
    const identifiers = items.map(({ identifier }) => identifier)
    asked.push(identifiers)
    return refuse(identifiers) ? undefined : 100
  }
  const nothing = (): undefined => undefined
  const packs = { write, writeNow: nothing, noteOrder: nothing, isUnstorable: () => false, noteUnstorable: nothing }
  return { packs, commit: async () => ({ entries: 1, bytes: 1, maintenanceDue: false }) }
}

function stats(): VarveWebpackStats {
  return { hits: 0, misses: 0, stored: 0, skipped: [], bytesWritten: 0, changed: [] }
}

it('a value that is too large is not serialised', async () => {
  const counts = stats()
  const writing = new Writing(counts, () => undefined)
  // Memory that is allocated and never touched.
  const source = { _value: Buffer.alloc(VALUE_BYTES_MAX + 1) }
  for (const [name, data] of Object.entries({ small: 'a', huge: { _source: source }, other: { b: 1 } })) {
    writing.pending.set(`kind|${name}`, { etag: null, data })
  }
  const asked: string[][] = []
  await writing.putAll(
    target(asked, () => false),
    'environment',
    undefined,
  )
  expect([asked, counts.skipped.length, writing.pending.size]).toEqual([[['kind|small', 'kind|other']], 1, 0])
})

it('a large value has a pack of its own, so one that cannot be serialised costs no other a second try', async () => {
  const writing = new Writing(stats(), () => undefined)
  const values = { a: 'a', large: { text: 'x'.repeat(2 * MIB) }, b: 'b' }
  for (const [name, data] of Object.entries(values)) writing.pending.set(`kind|${name}`, { etag: null, data })
  const asked: string[][] = []
  await writing.putAll(
    target(asked, (names) => names.includes('kind|large')),
    'environment',
    undefined,
  )
  expect(asked).toEqual([['kind|a', 'kind|b'], ['kind|large']])
})

it('a large value that cannot be stored is not serialised by each build again, only once it has changed', async () => {
  class Parts {
    readonly parts = Array.from({ length: 80 }, (_, index) => Buffer.alloc(MIB - 1, String(index)))
  }
  let serialised = 0
  webpack.util.serialization.register(Parts, 'varve-test/parts', 'Parts', {
    serialize: ({ parts }: Parts, { write }) => {
      serialised++
      write(parts)
    },
    deserialize: ({ read }) => Object.assign(new Parts(), { parts: read() }),
  })
  const folder = makeFolder()
  writeFileSync(join(folder, 'main.js'), "console.log('main')\n")
  const build = async (etag: string): Promise<[serialised: number, skipped: string[]]> => {
    serialised = 0
    const apply = (compiler: Compiler): void => {
      compiler.hooks.thisCompilation.tap('parts', (compilation) =>
        compilation.hooks.processAssets.tapPromise('parts', async () => {
          const found = await compilation.getCache('parts').getPromise('all', etag)
          expect(found).toBeUndefined()
          await compilation.getCache('parts').storePromise('all', etag, new Parts())
        }),
      )
    }
    const { stats: counts, complaints } = await buildOnce(folder, { plugins: [{ apply }] })
    expect(complaints).toEqual([])
    return [serialised, counts.skipped]
  }
  const skipped = ['parts|all']
  expect(await build('first')).toEqual([1, skipped])
  expect(await build('first')).toEqual([0, skipped])
  expect(await build('second')).toEqual([1, skipped])
})

it('the weight of a value counts its large texts and buffers, wherever they are near its top', () => {
  const text = 'x'.repeat(MIB)
  const bytes = Buffer.alloc(2 * MIB)
  expect(weightOf({ a: { b: [text], c: new Map([['d', bytes]]) }, e: 'small' })).toBe(3 * MIB)
  expect(weightOf(new CachedSource(new RawSource(bytes)))).toBeGreaterThanOrEqual(2 * MIB)
  expect(
    weightOf(
      new (class Result {
        readonly parts = [text]
      })(),
    ),
  ).toBe(MIB)
  expect([
    weightOf('small'),
    weightOf(null),
    weightOf(42),
    weightOf(Array.from({ length: 1000 }, () => ({ a: 1 }))),
  ]).toEqual([0, 0, 0, 0])
})

describe('a large pack', () => {
  const image = randomBytes(3 * MIB)
  const buffer = randomBytes(9 * MIB)
  const text = 'y'.repeat(5 * MIB)
  const values = ['small', { buffer, text }, new CachedSource(new RawSource(image))]

  it('a large pack keeps its large buffers beside it, and returns the same values', async () => {
    const encoded = await encodePack(codec, values)
    if (encoded === undefined) throw new Error('it cannot be serialised')
    expect(encoded.bytes.length).toBeLessThan(MIB)
    expect(contentLengths(encoded.bytes)).toEqual(encoded.contents.map(({ length }) => length))
    const found: unknown = await decodePack(codec, encoded.bytes, async () => encoded.contents)
    const [small, object, source] = Array.isArray(found) ? found : []
    expect([small, object.text === text, buffer.equals(object.buffer)]).toEqual(['small', true, true])
    expect(source instanceof CachedSource && source.buffer().equals(image)).toBe(true)
  })

  it('a large pack without one of its buffers is a miss; with one of another length, or cut, an error', async () => {
    const encoded = await encodePack(codec, values)
    if (encoded === undefined) throw new Error('it cannot be serialised')
    expect(await decodePack(codec, encoded.bytes, async () => undefined)).toBeUndefined()
    const short = async (): Promise<Buffer[]> => encoded.contents.map((content) => content.subarray(1))
    await expect(decodePack(codec, encoded.bytes, short)).rejects.toThrow('bytes, not')
    const cut = async (): Promise<unknown> => decodePack(codec, encoded.bytes.subarray(0, 16), short)
    await expect(cut()).rejects.toThrow('cannot have')
  })
})

describe('hashes of sources', () => {
  /** Asks the cache for a result of each asset, as a minimiser does, and counts the sources that webpack hashes for that. */
  class Minimiser {
    readonly #etags: Record<string, object> = {}
    hashed = 0

    get etags(): Record<string, string> {
      return Object.fromEntries(Object.entries(this.#etags).map(([name, etag]) => [name, String(etag)]))
    }

    apply(compiler: Compiler): void {
      compiler.hooks.compilation.tap('minimiser', (compilation) =>
        compilation.hooks.processAssets.tapPromise('minimiser', async (assets) => {
          const cache = compilation.getCache('minimiser')
          for (const [name, source] of Object.entries(assets)) {
            const { updateHash } = source
            source.updateHash = (hash) => {
              this.hashed++
              updateHash.call(source, hash)
            }
            this.#etags[name] = cache.getLazyHashedEtag(source)
            await cache.providePromise(name, cache.getLazyHashedEtag(source), async () => 'minimised')
          }
        }),
      )
    }
  }

  const build = async (folder: string, output: Configuration['output'] = {}): Promise<Minimiser> => {
    const minimiser = new Minimiser()
    const { complaints } = await buildOnce(folder, { plugins: [minimiser], output })
    expect(complaints).toEqual([])
    return minimiser
  }

  const project = (): string => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), "import './part.js'\nconsole.log('main')\n")
    writeFileSync(join(folder, 'part.js'), "console.log('part')\n")
    return folder
  }

  it('a warm build hashes no restored source again, and has the etags of a build without a cache', async () => {
    const folder = project()
    const cold = await build(folder)
    const warm = await build(folder)
    expect([cold.hashed, warm.hashed]).toEqual([1, 0])
    expect(warm.etags).toEqual(cold.etags)
    writeFileSync(join(folder, 'part.js'), "console.log('changed')\n")
    const changed = await build(folder)
    expect(changed.hashed).toBe(1)
    expect(changed.etags).not.toEqual(cold.etags)
    rmSync(join(folder, 'cache'), { recursive: true })
    expect((await build(folder)).etags).toEqual(changed.etags)
  })

  it('hashes of another hash function are not used', async () => {
    const folder = project()
    await build(folder, { hashFunction: 'xxhash64' })
    const warm = await build(folder, { hashFunction: 'md4' })
    rmSync(join(folder, 'cache'), { recursive: true })
    expect(warm.etags).toEqual((await build(folder, { hashFunction: 'md4' })).etags)
  })

  it.each([null, 1, [], ['xxhash64'], ['xxhash64', 1], ['xxhash64', 'a', 'b'], ['xxhash64', 'x'.repeat(1000)]])(
    'stored hashes that are none are left: %j',
    (stored) => {
      const compiler = webpack({ entry: './main.js', output: { hashFunction: 'xxhash64' } })
      const source = new RawSource('text')
      new SourceHashes(compiler).restore({ source }, stored)
      const etag = compiler.getCache('any').getLazyHashedEtag(source).toString()
      expect(etag).toBe(compiler.getCache('any').getLazyHashedEtag(new RawSource('text')).toString())
    },
  )
})

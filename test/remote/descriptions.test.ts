/** Descriptions of layers: a writer and a reader cut files in the same way, and no description leads out of its directory. */
import { describe, expect, it } from 'vitest'
import type * as layer from '../../packages/remote/src/layer.ts'
import { randomOf } from '../random.ts'

const PATH = new URL('../../packages/remote/src/layer.ts', import.meta.url).href
const { CHUNK_MAX, cut, decodeDescription, encodeDescription }: typeof layer = await import(PATH)
const MIB = 1 << 20

describe('how files are cut', () => {
  it('chunks have at most the bytes that the store takes, contain every byte once and in order, and large files begin a chunk', () => {
    const below = randomOf(7)
    for (let round = 0; round < 200; round++) {
      const files = Array.from({ length: below(40) }, (_, index) => {
        const bytes = below(4) === 0 ? below(20 * MIB) : below(200_000)
        return { path: `v1/1-${index}.table`, bytes }
      })
      const chunkMax = [65_536, MIB, 4 * MIB, CHUNK_MAX][below(4)] ?? 0
      const chunks = cut({ files, chunkMax })
      const pieces = chunks.flat()
      expect(
        Math.max(0, ...chunks.map((chunk) => chunk.reduce((sum, { bytes }) => sum + bytes, 0))),
      ).toBeLessThanOrEqual(chunkMax)
      for (const { path, bytes } of files) {
        const own = pieces.filter((piece) => piece.path === path)
        expect(own.reduce((sum, piece) => (piece.offset === sum ? sum + piece.bytes : Number.NaN), 0)).toBe(bytes)
        const isAlone = chunks
          .filter((chunk) => chunk.some((piece) => piece.path === path))
          .every((chunk) => chunk.length === 1)
        expect(bytes < MIB || isAlone).toBe(true)
      }
    }
  })
})

describe('a description', () => {
  const digest = 'a'.repeat(64)
  const valid = {
    chunkMax: 8 * MIB,
    files: [
      { path: 'v1/1-1.table', bytes: 5 },
      { path: 'v1/manifest-1', bytes: 3 },
    ],
    chunks: [digest],
  } as const

  it('is read as it was written', () => {
    for (const each of [valid, { ...valid, chunkMax: 65_536 }])
      expect(decodeDescription(encodeDescription(each), 8)).toEqual(each)
  })

  it.each([
    ['a path that leaves the directory', { ...valid, files: [{ path: '../../x', bytes: 8 }] }],
    ['an absolute path', { ...valid, files: [{ path: '/v1/manifest-1', bytes: 8 }] }],
    ['a file that no layer has', { ...valid, files: [{ path: 'v1/1.log', bytes: 8 }] }],
    [
      'the same path twice',
      {
        ...valid,
        files: [
          { path: 'v1/manifest-1', bytes: 5 },
          { path: 'v1/manifest-1', bytes: 3 },
        ],
      },
    ],
    ['another size than the manifest', { ...valid, files: [{ path: 'v1/manifest-1', bytes: 9 }] }],
    [
      'a negative size',
      {
        ...valid,
        files: [
          { path: 'v1/1-1.table', bytes: -5 },
          { path: 'v1/manifest-1', bytes: 13 },
        ],
      },
    ],
    ['too few chunks', { ...valid, chunks: [] }],
    ['a chunk that is no digest', { ...valid, chunks: ['../head'] }],
    ['chunks that are too small', { ...valid, chunkMax: 1 }],
    ['chunks that are too large', { ...valid, chunkMax: 2 ** 31 }],
    ['a size of chunks that is no number', { ...valid, chunkMax: '65536x' }],
    ['a path with a line in it', { ...valid, files: [{ path: 'v1/manifest-1\n0 v1/manifest-2', bytes: 8 }] }],
    ['a line more at the end', { ...valid, chunks: [digest, ''] }],
  ])('%s is refused', (_, value) => {
    expect(decodeDescription(encodeDescription(value as never), 8)).toBeUndefined()
  })

  it.each([
    ['JSON', '{"version":1,"files":[],"chunks":[]}\n'],
    ['another version', 'varve-layer 2 8388608\n0 v1/manifest-1\n\n'],
    ['no chunks', 'varve-layer 1 8388608\n8 v1/manifest-1\n'],
    ['an end within a line', `varve-layer 1 8388608\n8 v1/manifest-1\n\n${digest}`],
    ['nothing', ''],
  ])('%s is refused', (_, text) => {
    expect(decodeDescription(Buffer.from(text), 8)).toBeUndefined()
  })

  it('that claims a file of a terabyte in small chunks takes no memory for them, nor one with more files than are left', () => {
    const claims = `varve-layer 1 65536\n${2 ** 40} v1/1-1.table\n\n${digest}\n`
    const before = process.memoryUsage().heapUsed
    expect(decodeDescription(Buffer.from(claims), 2 ** 40)).toBeUndefined()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50 * MIB)
    expect([
      decodeDescription(encodeDescription(valid), 8, 2),
      decodeDescription(encodeDescription(valid), 8, 1),
    ]).toEqual([valid, undefined])
  })
})

/** The bytes of a pack: repeated bytes are written once, and lazy sections are separate. */
import { describe, expect, it } from 'vitest'
import { decodeRepeats, encodeRepeats } from '../../../packages/plugins/dist/webpack/repeats.js'
import { lengthOf, type Resolved, sectionsOf, streamOf } from '../../../packages/plugins/dist/webpack/sections.js'
import { type Random, randomOf, runSeed } from '../../random.ts'

const ROUNDS = 500

/** Bytes that repeat themselves near and far, overlapping too, with runs of one byte between. */
function repetitive(random: Random): Buffer {
  let bytes = Buffer.alloc(0)
  for (let piece = random(12); piece > 0; piece--) {
    const from = random(bytes.length + 1)
    const pieces = [
      () => Buffer.from(Array.from({ length: random(400) }, () => random(256))),
      () => Buffer.alloc(random(2000), random(3)),
      () => bytes.subarray(from, from + random(9000)),
    ]
    bytes = Buffer.concat([bytes, pieces[random(3)]?.() ?? bytes])
  }
  return bytes
}

const u32 = (...values: number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer)
const values = (text: string): Buffer => Buffer.concat([Buffer.of(0xf1), u32(text.length, 0), Buffer.from(text)])
const lazy = (...sizes: number[]): Buffer => Buffer.concat([Buffer.of(0xf2), u32(sizes.length, ...sizes)])

describe('repeats', () => {
  it('repeated bytes are restored for any earlier contents', () => {
    const random = randomOf(runSeed('repeats'))
    for (let round = 0; round < ROUNDS; round++) {
      const source = repetitive(random)
      const start = random(source.length + 1)
      const encoded = Buffer.concat(encodeRepeats(source, start) ?? [])
      expect(decodeRepeats(source.subarray(0, start), encoded).equals(source.subarray(start)), `round ${round}`).toBe(true)
    }
  })

  it('repeated bytes are written once, at any distance', () => {
    const random = randomOf(1)
    const text = Buffer.from(Array.from({ length: 1_000_000 }, () => random(256)))
    const pieces = encodeRepeats(Buffer.concat([text, text.subarray(5), text.subarray(0, 7777)]), text.length)
    expect(lengthOf(pieces ?? [])).toBeLessThan(200)
  })

  // A copy that begins where the known bytes end counted as bytes that were set.
  it('restored bytes are never those that were in memory before', () => {
    const size = 400
    expect(() => decodeRepeats(Buffer.from('x'), u32(size, 1, 0, 0x7fffff, size))).toThrow('not what was written')
    expect(() => decodeRepeats(Buffer.from('x'), u32(size, 1, 0, 1, size))).toThrow('not what was written')
    expect(() => decodeRepeats(Buffer.from('x'), u32(1, 1, 2 ** 32 - 1, 0, 1))).toThrow('not what was written')
    expect(decodeRepeats(Buffer.from('x'), u32(1, 1, 0, 0, 1)).toString()).toBe('x')
  })

  it('12 KB of repeats are not restored to 1 GiB', () => {
    const count = 1023
    const encoded = Buffer.concat([u32(count << 20, count), ...Array.from({ length: count }, () => u32(0, 0, 1 << 20))])
    expect(() => decodeRepeats(Buffer.alloc(1 << 20, 1), encoded)).toThrow('not what was written')
  })

  it('repeats are not compressed if restoring them would exceed the limit', () => {
    const random = randomOf(1)
    const text = Buffer.from(Array.from({ length: 2000 }, () => random(256)))
    const repeated = (count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => text))
    expect(encodeRepeats(repeated(1000), text.length)).toBeUndefined()
    expect(encodeRepeats(repeated(10), text.length)).toBeDefined()
  })
})

describe('sections', () => {
  it('sections are found across parts, also for functions', () => {
    const parts: Resolved[] = [values('ab'), lazy(3), Buffer.from('xy'), Buffer.from('z'), [Buffer.from('function')], values('cd')]
    const sections = sectionsOf(parts)
    expect(sections?.map(({ isLazy }) => isLazy)).toEqual([false, true, true, false])
    const stream = Buffer.concat([values('ab'), lazy(3), Buffer.from('xyz'), lazy(8), Buffer.from('function'), values('cd')])
    expect(Buffer.concat(streamOf(sections ?? [])).equals(stream)).toBe(true)
  })

  it('sections inside of lazy sections are joined', () => {
    const inner = values('in')
    const sections = sectionsOf([lazy(inner.length, 0), inner, [Buffer.from('function')]])
    const stream = Buffer.concat([lazy(inner.length + 17), inner, lazy(8), Buffer.from('function')])
    expect(Buffer.concat(streamOf(sections ?? [])).equals(stream)).toBe(true)
  })

  it('bytes that only begin like a section are not a section', () => {
    for (const bytes of [Buffer.of(0xf1, 1), Buffer.of(7), Buffer.concat([values('ab'), Buffer.of(0)]), lazy(9)]) {
      expect(sectionsOf([bytes])).toBeUndefined()
    }
  })
})

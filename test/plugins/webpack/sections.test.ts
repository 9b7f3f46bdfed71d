/** Sections in the output of webpack's serialiser: lazy ones are stored apart. */
import { describe, expect, it } from 'vitest'
import { type Resolved, sectionsOf, streamOf } from '../../../packages/plugins/dist/webpack/sections.js'

const u32 = (...values: number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer)
const values = (text: string): Buffer => Buffer.concat([Buffer.of(0xf1), u32(text.length, 0), Buffer.from(text)])
const lazy = (...sizes: number[]): Buffer => Buffer.concat([Buffer.of(0xf2), u32(sizes.length, ...sizes)])

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

/** The last step of the serialiser: lists with buffers and lazy parts as bytes. */
import { serialize } from 'node:v8'
import { expect, it } from 'vitest'
import { BytesStep, type Lazy } from '../../../packages/plugins/dist/webpack/value.js'

const step = new BytesStep({ createLazy: (make) => make }, {})

const values = (list: unknown): Buffer => {
  const bytes = serialize(list)
  return Buffer.concat([Buffer.from(Uint32Array.of(bytes.length).buffer), bytes])
}

/** A list with its lazy parts called. */
const resolved = (list: unknown): unknown => {
  if (typeof list === 'function') return { lazy: resolved(list()) }
  return Array.isArray(list) ? list.map(resolved) : list
}

/** A list with a buffer, an empty one, and a lazy part that has another one. */
const made = (): unknown[] => {
  const inner: Lazy = () => [false, Buffer.from('inner')]
  const outer: Lazy = () => ['é€', inner, 2n]
  return ['a', null, true, Buffer.from('bytes'), -0.5, outer, Buffer.alloc(0), undefined, 'z']
}

it('a list is restored, wherever its bytes are divided', () => {
  const bytes = Buffer.concat(step.serialize(made()))
  for (let middle = 0; middle <= bytes.length; middle++) {
    const pieces = [bytes.subarray(0, middle), bytes.subarray(middle)].filter(({ length }) => length > 0)
    expect(resolved(step.deserialize(pieces))).toEqual(resolved(made()))
  }
})

it('a restored lazy part is stored again without calling it', () => {
  const bytes = Buffer.concat(step.serialize(made()))
  const again = new BytesStep({ createLazy: () => () => expect.unreachable() }, {})
  expect(resolved(step.deserialize(step.serialize(again.deserialize([bytes]))))).toEqual(resolved(made()))
})

it('bytes that are cut, or have more than their list, are an error', () => {
  const bytes = Buffer.concat(step.serialize(made()))
  for (let end = 0; end < bytes.length; end++) expect(() => step.deserialize([bytes.subarray(0, end)])).toThrow(Error)
  expect(() => step.deserialize([bytes, Buffer.of(0)])).toThrow('more bytes')
})

it('a part without a place, and values that are no lists, are errors', () => {
  for (const places of [
    [1, 0],
    [-1, 0],
    [0.5, 0],
    ['length', 0],
    [0, -1],
    [0, Number.NaN],
    [0, 1.5],
    [0, 2 ** 40],
    [0],
    [0, 0, 0, 0],
  ]) {
    expect(() => step.deserialize([values([[false, 1], places]), Buffer.of(7)])).toThrow(Error)
  }
  for (const found of [null, [], [[]], { 0: [], 1: [] }])
    expect(() => step.deserialize([values(found)])).toThrow('no list')
})

it('an object in a list is an error', () => {
  for (const item of [{}, [], new Map(), Symbol('a')]) expect(() => step.serialize([item])).toThrow(Error)
})

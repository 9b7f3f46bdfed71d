/** Which parts of a safety suite an order runs. */
import { expect, it } from 'vitest'
import { chosenOf, onlyNamed, sample } from './suite.mjs'

const part = (name: string) => ({ name, run: () => Promise.resolve({ figures: {}, violations: [] }) })
const PARTS = [part('a'), sample(part('b')), ...['c', 'd', 'e', 'f', 'g'].map(part), onlyNamed(part('h'))]

const namesOf = (options: Partial<Parameters<typeof chosenOf>[1]>): string[] =>
  chosenOf(PARTS, { sample: false, rest: false, share: '1/1', ...options }).map(({ name }) => name)

it.each([1, 4, 7])('the %i shares of the rest run each of its parts once', (count) => {
  const shares = Array.from({ length: count }, (_, index) => namesOf({ rest: true, share: `${index + 1}/${count}` }))
  expect(shares.flat().sort()).toEqual(['a', 'c', 'd', 'e', 'f', 'g'])
})

it('the sample and the rest are all parts but those that run only by name', () => {
  expect([...namesOf({ sample: true }), ...namesOf({ rest: true })].sort()).toEqual(namesOf({}).sort())
  expect(namesOf({})).not.toContain('h')
})

it.each(['3', '0/3', '4/3', 'some'])('the share %s, which would run nothing, is refused', (share) => {
  expect(() => namesOf({ share })).toThrow(`not ${share}`)
})

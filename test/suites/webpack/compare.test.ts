/** What the suites of webpack report: which tests are lost with Varve. */
import { expect, it } from 'vitest'
import { compare, joinRuns, readReport } from './compare.mjs'

it('a test that passes without Varve and fails or is missing with it is lost', () => {
  const before = { same: 'passed', fails: 'passed', gone: 'passed', bad: 'failed', left: 'skipped' } as const
  const after = { same: 'passed', fails: 'failed', bad: 'failed', left: 'skipped' } as const
  expect(compare(before, after)).toEqual({ passed: 1, lost: ['fails', 'gone'], right: [], failedBefore: ['bad'] })
})

it('a test that differs as documented is not lost', () => {
  const [before, after] = [
    { same: 'passed', differs: 'passed' },
    { same: 'passed', differs: 'failed' },
  ] as const
  expect(compare(before, after, new Set(['differs']))).toEqual({ passed: 1, lost: [], right: [], failedBefore: [] })
})

it('a documented test that passes after all is reported, and one that did not run is not', () => {
  const run = { same: 'passed', differs: 'passed', filtered: 'skipped' } as const
  expect(compare(run, run, new Set(['differs', 'filtered', 'elsewhere']))).toMatchObject({
    passed: 2,
    lost: [],
    right: ['differs'],
  })
})

it('tests of one name are distinguished in a report of jest', () => {
  const assertionResults = ['passed', 'failed', 'pending'].map((status) => ({ fullName: 'case', status }))
  expect(readReport({ testResults: [{ assertionResults }] })).toEqual({
    case: 'passed',
    'case #2': 'failed',
    'case #3': 'skipped',
  })
})

it('a suite that runs in parts has the outcome of each test from the part that ran it', () => {
  const parts = [
    { a: 'passed', b: 'skipped', c: 'skipped' },
    { a: 'skipped', b: 'failed', c: 'skipped' },
  ] as const
  expect(joinRuns(parts)).toEqual({ a: 'passed', b: 'failed', c: 'skipped' })
})

// @ts-check
// The decisions of the scripts: what counts as installed, as a fit Node, as passed, as failed.
import { describe, expect, it } from 'vitest'
import { firstDifference } from './install.mjs'
import { readCargo, sumOutcomes } from './outcome.mjs'
import { nodeFits } from './tools.mjs'

describe('what is installed', () => {
  const wanted = {
    '': {},
    'packages/a': { version: '1.0.0' },
    'node_modules/a': { link: true },
    'node_modules/b': { version: '1.0.0', integrity: 'x' },
    'node_modules/c': { version: '1.0.0', integrity: 'y', optional: true },
  }
  const { 'node_modules/b': b, 'node_modules/c': c, ...links } = wanted

  it('may lack what belongs to other platforms', () => {
    expect(firstDifference(wanted, { ...links, 'node_modules/b': b })).toBeUndefined()
  })

  it('differs by a package that is missing, older or left over', () => {
    expect(firstDifference(wanted, { ...links, 'node_modules/c': c })).toBe('node_modules/b')
    const older = { version: '0.9.0', integrity: 'x' }
    expect(firstDifference(wanted, { ...links, 'node_modules/b': older })).toBe('node_modules/b')
    expect(firstDifference(wanted, { ...wanted, 'node_modules/d': {} })).toBe('node_modules/d')
  })
})

describe('the Node that runs', () => {
  it.each(['20.19.0', '20.20.2', '22.12.0', '23.0.0', '24.1.0'])('%s fits', (version) => {
    expect(nodeFits(version)).toBe(true)
  })

  it.each(['18.20.0', '20.18.3', '21.7.0', '22.11.0'])('%s does not', (version) => {
    expect(nodeFits(version)).toBe(false)
  })
})

describe('the sum of all runners', () => {
  it('reads the closing lines of cargo', () => {
    /** @param {string} verdict @param {string} counts */
    const line = (verdict, counts) => `test result: ${verdict}. ${counts}; 0 ignored\n`
    const output = `running 3 tests\n${line('ok', '3 passed; 0 failed')}${line('FAILED', '1 passed; 2 failed')}`
    expect(readCargo(output)).toEqual({ passed: 4, failed: 2 })
  })

  it('is never better than the exit codes', () => {
    const passed = { outcome: { passed: 3, failed: 0 }, exitCode: 0 }
    const failed = { outcome: { passed: 1, failed: 2 }, exitCode: 1 }
    const broken = { outcome: { passed: 0, failed: 0 }, exitCode: 101 }
    expect(sumOutcomes([passed, failed, broken])).toEqual({ passed: 4, failed: 3 })
  })
})

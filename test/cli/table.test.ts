/** Tables of the command: they fit the terminal, lose no text, and have colours only for readers who want them. */
import { join } from 'node:path'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import type * as outputs from '../../packages/varve/src/cli/output/output.ts'
import type * as tables from '../../packages/varve/src/cli/output/table.ts'
import { runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'
import { randomOf } from '../random.ts'

// Imported by a computed path, because the sources belong to another TypeScript project.
const path = new URL('../../packages/varve/src/cli/output/table.ts', import.meta.url).href
const { columnsOf, cut, table, wrapped }: typeof tables = await import(path)
const { size }: typeof outputs = await import(path.replace('table.ts', 'output.ts'))

const HEAD = ['name', 'entries', 'what']
const ROWS = [
  ['modules', '1,234,567', 'a text of several words that is longer than the others'],
  ['漢字かな', '2', 'src/a/path/without/any/space/that/is/longer/than/every/column.js'],
]

const withoutSpaces = (text: string): string => text.replaceAll(/\s/g, '')

describe('tables', () => {
  it('tables of 200 widths fit, and show each cell as a whole', () => {
    for (let width = 24; width < 224; width++) {
      const lines = table(HEAD, ROWS, ['entries'], width).trimEnd().split('\n')
      for (const line of lines) expect(columnsOf(line), `${width}: ${line}`).toBeLessThanOrEqual(width)
      for (const row of ROWS) expect(withoutSpaces(lines.join('')), `${width}`).toContain(row[1] ?? '')
      expect(lines.join('\n')).toContain('1,234,567')
    }
    expect(table(HEAD, ROWS, ['entries'], 60).split('\n')).toEqual([
      'name        entries  what',
      'modules   1,234,567  a text of several words that is longer',
      '                     than the others',
      '漢字かな          2  src/a/path/without/any/space/that/is/lo',
      '                     nger/than/every/column.js',
      '',
    ])
    expect(table(HEAD, ROWS.slice(0, 1), ['entries'], 30)).toBe(
      [
        'name:    modules',
        'entries: 1,234,567',
        'what:    a text of several',
        '         words that is longer',
        '         than the others',
        '',
      ].join('\n'),
    )
  })

  it('wrapped lines have all characters of a text, each within the width', () => {
    const random = randomOf(11)
    for (let round = 0; round < 500; round++) {
      const text = Array.from({ length: random(60) }, () => 'ab 漢/é '[random(7)])
        .join('')
        .trim()
      const columns = 2 + random(20)
      const lines = wrapped(text, columns)
      expect(withoutSpaces(lines.join(''))).toBe(withoutSpaces(text))
      for (const line of lines) expect(columnsOf(line), JSON.stringify([text, columns])).toBeLessThanOrEqual(columns)
      expect(columnsOf(cut(text, columns))).toBeLessThanOrEqual(columns)
    }
  })
})

describe('the output of varve', () => {
  it('has colours with FORCE_COLOR, and none on a pipe or with NO_COLOR', async () => {
    const dir = join(makeFolder(), 'cache')
    const cache = await openCache({ name: 'colours', dir, history: 'never' })
    cache.namespace('a', { codec: 'text' }).put('key', 'value')
    await cache.close()
    const colourful = (env: NodeJS.ProcessEnv): boolean =>
      runVarve(['repair', '--check', '--dir', dir], { env }).out.includes('\u001b[32msound')
    const environments = [{ NO_COLOR: undefined }, { NO_COLOR: '1' }, { NO_COLOR: undefined, FORCE_COLOR: '1' }]
    expect(environments.map(colourful)).toEqual([false, false, true])
  })

  it('varve stats is a table in 80 columns, in which long names are whole, with large numbers and entries of different ages', async () => {
    const dir = join(makeFolder(), 'cache')
    const cache = await openCache({ name: 'wide', dir, history: 'never' })
    for (const name of [
      'task:a-name-of-a-task-that-is-long',
      'webpack parts: webpack packs default production web shop/site',
    ]) {
      const space = cache.namespace(name, { version: '1234567890abcdef', codec: 'text' })
      for (let key = 0; key < 1200; key++) space.put(`a key of the namespace ${key}`, 'x'.repeat(1000))
    }
    await cache.close()
    const lines = runVarve(['stats', '--raw', '--dir', dir], { env: { COLUMNS: '80' } })
      .out.split('\n')
      .slice(2)
    expect(lines[0]).toMatch(/^namespace +version +entries +keys +values +on disk +age$/)
    for (const line of lines) expect(columnsOf(line), line).toBeLessThanOrEqual(80)
    const row = lines.indexOf('webpack parts: webpack packs default production web shop/site') + 1
    expect(lines[row]).toMatch(/^ +1234567890ab\S*(?: text)? +1,200 +\S+ KiB +\S+ MiB/)
  })

  it('sizes have three digits or more and a unit', () => {
    const sizes = [0, 1023, 1024, 1536, 1_048_575, 81_234_567, 3 * 2 ** 40].map((bytes) => size(bytes))
    expect(sizes).toEqual(['0 B', '1023 B', '1 KiB', '1.5 KiB', '1024 KiB', '77.5 MiB', '3 TiB'])
  })

  it('each command that prints a list reports an empty cache', async () => {
    const dir = join(makeFolder(), 'cache')
    const cache = await openCache({ name: 'empty', dir, history: 'never' })
    await cache.importJson([
      JSON.stringify({ namespace: 'varve:history', version: '1', key: '1', text: 'not a record' }),
    ])
    await cache.close()
    const printed = (...args: string[]): string => {
      const { status, out, err } = runVarve([...args, '--dir', dir])
      expect(status, args.join(' ')).toBe(0)
      return `${out}${err}`.split('\n').slice(-2).join('')
    }
    expect(printed('stats')).toBe('no entries')
    expect(printed('ls', '--sort', 'age')).toBe('varve: no entries')
    expect(printed('ls')).toBe('varve: no entries')
    expect(printed('ls', '--task')).toBe('varve: no results of tasks')
    expect(printed('files', 'ls')).toBe('varve: no manifests')
    expect(printed('files', 'ls', '--stored')).toBe('varve: no stored files')
    expect(printed('history')).toBe('no builds recorded')
  })
})

/** `npx varve history`: what it prints of the last builds, and how it fits a terminal. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'

/** A build of tool `name` with these counts. */
async function build(
  dir: string,
  hits: number,
  reasons: Readonly<Record<string, number>>,
  savedMs: number,
): Promise<void> {
  const cache = await openCache({ name: 'webpack', dir })
  cache.namespace('modules', { codec: 'text' }).put(`${hits}`, 'value')
  const misses = Object.values(reasons).reduce((sum, count) => sum + count, 0)
  cache.recordBuild({ hits, misses, reasons, savedMs })
  await cache.close()
}

/** The cells of each row below the head. */
function rowsOf(out: string): string[][] {
  const [, , ...lines] = out.trimEnd().split('\n')
  return lines.map((line) => line.split(/ {2,}/))
}

describe('varve history', () => {
  it('varve history lists the newest build first, with hits, their work and reasons', async () => {
    const dir = join(makeFolder(), 'cache')
    await build(dir, 0, { new: 2000 }, 0)
    await new Promise((resolve) => setTimeout(resolve, 5))
    await build(dir, 1997, { file: 2, 'list src': 1 }, 14_200)
    await new Promise((resolve) => setTimeout(resolve, 5))
    await build(dir, 1998, { 'changed babel.config.js': 2 }, 14_200)
    const { out, status } = runVarve(['history', '--dir', dir])
    expect([status, rowsOf(out).map(([tool, , , ...cells]) => [tool, ...cells])]).toEqual([
      0,
      [
        ['webpack', '1,998 of 2,000', '14.2s', 'changed babel.config.js (2)', 'modules'],
        ['webpack', '1,997 of 2,000', '14.2s', 'source changed (2), list of src changed (1)', 'modules'],
        ['webpack', '0 of 2,000', '-', 'new (2,000)', 'modules'],
      ],
    ])
    expect(rowsOf(runVarve(['history', '--dir', dir, '--limit', '1']).out)).toHaveLength(1)
    const json = JSON.parse(runVarve(['history', '--dir', dir, '--json']).out)
    const reasons = { 'changed babel.config.js': 2 }
    expect(json.caches[0].builds[0]).toMatchObject({
      name: 'webpack',
      hits: 1998,
      misses: 2,
      savedMs: 14_200,
      reasons,
      namespaces: ['modules'],
    })
  })

  it('the table of varve history fits 80 and 100 columns, however long the reasons are', async () => {
    const dir = join(makeFolder(), 'cache')
    await build(
      dir,
      1_234_567,
      { [`changed ${'long/'.repeat(10)}name.js`]: 123, 'file other.js': 4, new: 1 },
      3_600_000,
    )
    for (const columns of [80, 100]) {
      const { out } = runVarve(['history', '--dir', dir], { env: { COLUMNS: String(columns) } })
      const widths = out
        .split('\n')
        .slice(1)
        .map((line) => line.length)
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns)
      expect(out.replaceAll(/\bmodules\b|\s/g, '')).toContain(`changed${'long/'.repeat(10)}`)
    }
  })

  it('varve history prints that nothing is recorded, and no value that another program wrote', async () => {
    const dir = join(makeFolder(), 'cache')
    mkdirSync(dir)
    const cache = await openCache({ name: 'webpack', dir, history: 'never' })
    const text = JSON.stringify(['\u001b[31mred', 1, 1, 1, 1, 1, 1, 1, 'native', 0, [4, 'modules']])
    const line = (value: string, index: number): string =>
      JSON.stringify({ namespace: 'varve:history', version: '1', key: `${index}`, text: value })
    const lines = [text, '["x"]', 'text'].map(line)
    await cache.importJson(Readable.from([lines.join('\n')]))
    await cache.close()
    const { out } = runVarve(['history', '--dir', dir])
    expect(rowsOf(out)[0]?.at(-1)).toBe('modules, 3 more')
    expect([rowsOf(out).length, out.includes('\u001b'), out.includes(String.raw`\x1b[31mred`)]).toEqual([
      1,
      false,
      true,
    ])
    const empty = join(makeFolder(), 'cache')
    const other = await openCache({ name: 'webpack', dir: empty, history: 'never' })
    other.namespace('a', { codec: 'text' }).put('key', 'value')
    await other.close()
    expect(runVarve(['history', '--dir', empty]).out).toContain('no builds recorded')
  })
})

/** The line at the end of a build, by each tool and with each engine, and the record that the build leaves. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildRecord, openCache } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ENGINES } from '../../engines.ts'
import { makeFolder } from '../../folders.ts'
import { MODULES, TOOLS, writeApplication } from './tools.ts'

const ours = (lines: readonly string[]): string[] => lines.filter((line) => line.includes('varve: ')).map((line) => line.replace(/^.*varve: /, ''))

async function historyOf(folder: string, name: string): Promise<readonly BuildRecord[]> {
  await using cache = await openCache({ name, dir: join(folder, 'cache'), readOnly: true })
  return cache.history()
}

afterEach(() => {
  vi.unstubAllEnvs()
})

describe.each(Object.keys(TOOLS))('the report of a build by %s', (tool) => {
  const build = TOOLS[tool] ?? Promise.reject

  it.each(ENGINES)('a build prints one line: from cache, time saved, and why others were rebuilt (%s)', async (engine) => {
    const folder = makeFolder()
    writeApplication(folder)
    const cold = ours(await build(folder, { engine, report: true }))
    expect(cold).toEqual([`0 of ${MODULES} modules from cache, ${MODULES} rebuilt (new)`])
    const [warm = '', ...others] = ours(await build(folder, { engine, report: true }))
    expect(warm).toMatch(new RegExp(`^${MODULES} of ${MODULES} modules from cache, [\\d.]+ m?s saved$`))
    expect(others).toEqual([])
    // 5 ms of work for each module and plugin; esbuild and webpack run one for each module.
    const [, amount, unit] = /([\d.]+) (m?s) saved/.exec(warm) ?? []
    expect(Number(amount) * (unit === 's' ? 1000 : 1)).toBeGreaterThanOrEqual(5 * MODULES)

    appendFileSync(join(folder, 'module-3.js'), '// changed\n')
    const [changed = ''] = ours(await build(folder, { engine, report: true }))
    expect(changed).toMatch(new RegExp(`^${MODULES - 1} of ${MODULES} modules from cache, [\\d.]+ m?s saved, 1 rebuilt \\(.*changed\\)$`))

    writeFileSync(join(folder, 'settings.json'), '2 and more')
    expect(ours(await build(folder, { engine, report: true }))).toEqual([
      `0 of ${MODULES} modules from cache, ${MODULES} rebuilt (settings.json changed)`,
    ])
    const counts = async (): Promise<unknown> =>
      (await historyOf(folder, tool)).map(({ name, hits, misses, engine: used }) => [name, hits, misses, used])
    // The warm build commits nothing, so it leaves no record. esbuild does not wait until a plugin has closed its cache.
    await expect.poll(counts, { timeout: 20_000 }).toEqual([[tool, 0, MODULES, engine], [tool, MODULES - 1, 1, engine], [tool, 0, MODULES, engine]])
  })

  it('a build prints nothing unless it is asked for, by the option or by VARVE_REPORT', async () => {
    const folder = makeFolder()
    writeApplication(folder)
    expect(ours(await build(folder, {}))).toEqual([])
    vi.stubEnv('VARVE_REPORT', '1')
    expect(ours(await build(folder, {}))).toHaveLength(1)
    expect(ours(await build(folder, { report: false }))).toEqual([])
  })

  it('the job summary of GitHub Actions gets the line if the report is a summary', async () => {
    const folder = makeFolder()
    const summary = join(folder, 'summary.md')
    writeApplication(folder)
    vi.stubEnv('GITHUB_STEP_SUMMARY', summary)
    await build(folder, { report: true })
    expect(existsSync(summary)).toBe(false)
    const lines = ours(await build(folder, { report: 'summary' }))
    expect(lines).toHaveLength(1)
    expect(readFileSync(summary, 'utf8')).toBe(`- **varve, ${tool}**: \`${lines[0]}\`\n`)
  })
})

/** `varve repair --check` and `varve repair`: their output and exit codes; only repair writes. */
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Ran, runVarve } from '../command.ts'
import { ENGINES } from '../engines.ts'
import { snapshot } from '../folders.ts'
import { slowOnWasm } from '../slow.ts'
import { COUNT, fileOf, flip, makeCache } from './caches.ts'

describe.each(ENGINES)('varve repair --check and repair: %s', (engine) => {
  const varve = (...args: string[]): Ran => runVarve(args, { env: { VARVE_ENGINE: engine } })

  it(
    'varve repair --check names damage, varve repair repairs it, and the check then finds nothing',
    slowOnWasm(engine),
    async () => {
      const dir = await makeCache(engine)
      expect(varve('repair', '--check', '--dir', dir).status).toBe(0)
      expect(varve('repair', '--dir', dir)).toMatchObject({
        status: 0,
        out: expect.stringContaining('nothing to repair'),
      })
      const table = fileOf(dir, '.table')
      flip(table, 100)
      const before = snapshot(dir)
      const name = basename(table)
      const text = varve('repair', '--check', '--dir', dir)
      expect(text.status).toBe(1)
      expect(text.out).toMatch(
        new RegExp(`${name} .* block of values .* n .*\\d+ entries: key \\d+ \\.\\.\\. key \\d+ \\(hashes `),
      )
      const json = varve('repair', '--check', '--dir', dir, '--json')
      const [{ sound, damage }] = JSON.parse(json.out).caches
      expect([json.status, sound, damage.length, damage[0].file, damage[0].namespace]).toEqual([1, false, 1, name, 'n'])
      const dry = varve('repair', '--dry-run', '--dir', dir)
      expect([dry.status, dry.out]).toEqual([1, expect.stringContaining(`To be quarantined as *.bad: ${name}`)])
      expect(snapshot(dir)).toEqual(before)
      const done = varve('repair', '--dir', dir, '--json')
      const [report] = JSON.parse(done.out).caches
      expect([done.status, report.sound, report.quarantined, report.dryRun]).toEqual([0, true, [name], false])
      expect(report.entriesAfter).toBe(COUNT + 1 - report.damage[0].keys.entries)
      expect(varve('repair', '--check', '--dir', dir, '--json')).toMatchObject({ status: 0 })
    },
  )

  it('varve repair --check and repair report a cache that is unrecoverable', async () => {
    const dir = await makeCache(engine)
    flip(fileOf(dir, 'manifest-'), 50)
    expect(varve('repair', '--check', '--dir', dir).status).toBe(1)
    expect(varve('repair', '--dir', dir)).toMatchObject({
      status: 0,
      out: expect.stringMatching(/the newest entries are unknown[^]*0 entries kept/),
    })
    expect(varve('repair', '--check', '--dir', dir).status).toBe(0)
  })
})

/** A compaction in another thread found damage and quarantined it, but did not report it. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

it('damage that a compaction in another thread finds is reported once', () => {
  const program = fileURLToPath(new URL('elsewhere.mjs', import.meta.url))
  const { stdout, stderr } = spawnSync(process.execPath, [program, join(makeFolder(), 'cache')], { encoding: 'utf8' })
  expect(stderr).toBe('')
  const { table, reported, damage, left } = JSON.parse(stdout)
  expect(reported).toMatchObject([{ file: table, offset: 8, what: 'block of values' }])
  expect(damage).toEqual(reported)
  expect(left).toContain(`${table}.bad`)
})

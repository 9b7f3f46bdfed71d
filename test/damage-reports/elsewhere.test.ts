/** A compaction in a thread of its own met damage and set it aside, and nobody was told. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

it('damage that is met while another thread compacts is told once', () => {
  const program = fileURLToPath(new URL('elsewhere.mjs', import.meta.url))
  const { stdout, stderr } = spawnSync(process.execPath, [program, join(makeFolder(), 'cache')], { encoding: 'utf8' })
  expect(stderr).toBe('')
  const { table, told, damage, left } = JSON.parse(stdout)
  expect(told).toMatchObject([{ file: table, offset: 0, what: 'block of values' }])
  expect(damage).toEqual(told)
  expect(left).toContain(`${table}.bad`)
})

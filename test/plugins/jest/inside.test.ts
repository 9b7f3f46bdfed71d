/** Varve inside a test that Jest runs, in a context of its own, with Jest's own loader of modules. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'

const JEST = createRequire(import.meta.url).resolve('jest/bin/jest')
const PACKAGE = fileURLToPath(new URL('../../../packages/varve', import.meta.url))
const [MAJOR = 0, MINOR = 0] = process.versions.node.split('.').map(Number)
const HAS_REQUIRE = MAJOR > 24 || (MAJOR === 24 && MINOR >= 9)

const LOADS = ["await import('varve')", ...(HAS_REQUIRE ? ["require('varve')"] : [])]
it.each(LOADS)('a test of Jest opens a cache natively with %s', (load) => {
  const folder = makeFolder()
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(PACKAGE, join(folder, 'node_modules/varve'), 'junction')
  writeFileSync(join(folder, 'package.json'), '{}')
  writeFileSync(
    join(folder, 'cache.test.js'),
    `
    test('opens', async () => {
      const { openCache } = ${load}
      const cache = await openCache({ name: 'x', dir: ${JSON.stringify(join(folder, 'cache'))} })
      const values = cache.namespace('n', { version: '1', codec: 'text' })
      values.put('key', 'value')
      await cache.commit()
      expect([cache.status().engine, values.get('key')]).toEqual(['native', 'value'])
      await cache.close()
    })`,
  )
  const flags = [
    '--experimental-vm-modules',
    JEST,
    '--ci',
    '--watchman=false',
    '--runInBand',
    '--testTimeout=60000',
    '--rootDir',
    folder,
  ]
  const { status, stderr } = spawnSync(process.execPath, flags, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, VARVE_ENGINE: '' },
  })
  expect([status, stderr]).toEqual([0, expect.stringContaining('1 passed')])
})

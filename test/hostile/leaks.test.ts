/** S15: the files of a cache contain nothing about the machine, the user, the environment or their directory. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

const MARK = 'mArK0f7hEm4cHiNe'

const PROGRAM = `
  const { openCache } = await import(process.argv[1])
  const cache = await openCache({ name: 'leaks', dir: process.argv[2], version: '1' })
  const space = cache.namespace('n', { codec: 'v8' })
  for (let number = 0; number < 500; number++) space.put('key ' + number, { number, text: 'x'.repeat(number * 10) })
  space.put('large', new Uint8Array(2 ** 21))
  const task = cache.task('task', { version: '1' })
  await task.run({ id: 'id', inputs: { a: 1 }, env: ['LEAK_ASKED'] }, () => ({ done: true }))
  await cache.commit()
  await cache.compact({ full: true })
  space.put('later', 1)
  await cache.commit({ durability: 'durable' })
  await cache.close()
`

describe.each(['native', 'wasm'])('leaks: %s', (engine) => {
  it('no cache file contains the environment, the user, the host, a path or a process', () => {
    const root = join(makeFolder(), `cwd-${MARK}`)
    const dir = join(root, 'cache')
    const identity = {
      USER: `user-${MARK}`,
      LOGNAME: `user-${MARK}`,
      HOME: `/home/${MARK}`,
      HOSTNAME: `host-${MARK}`,
      SECRET_TOKEN: `token-${MARK}`,
    }
    const env = { ...process.env, ...identity, LEAK_ASKED: `asked-${MARK}`, VARVE_ENGINE: engine }
    const entry = new URL('../../packages/varve/dist/bundle/index.js', import.meta.url).href
    const ran = spawnSync(process.execPath, ['--input-type=module', '--eval', PROGRAM, entry, dir], {
      cwd: makeFolder(),
      env,
      encoding: 'utf8',
    })
    expect([ran.status, ran.stderr]).toEqual([0, ''])
    const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
    expect(files.length).toBeGreaterThan(2)
    const words = [MARK, dir, process.execPath, hostname(), entry].filter((word) => word.length > 5)
    const wide = words.map((word) => Buffer.from(word, 'utf16le'))
    for (const file of files) {
      const bytes = readFileSync(join(file.parentPath, file.name))
      const found = [...words.map((word) => Buffer.from(word)), ...wide].filter((word) => bytes.includes(word))
      expect([file.name, found.map(String)]).toEqual([file.name, []])
    }
  })
})

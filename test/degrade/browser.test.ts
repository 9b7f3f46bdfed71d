/** A host without Node.js, as a browser is: no `process`, so no modules of Node.js. The cache works in memory, and its status has the reason. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const REPOSITORY = join(import.meta.dirname, '../..')

const CODE = `
delete globalThis.process
const { openCache } = await import('varve')
const open = () => openCache({ name: 'browser', dir: '/browser' })
const first = await open()
first.namespace('texts', { codec: 'text' }).put('key', 'value')
await first.close()
const second = await open()
await second.compact()
const texts = second.namespace('texts', { codec: 'text' })
console.log(texts.get('key'), texts.count(), second.status().reason)
`

it('a host without Node.js opens the WebAssembly engine in memory', () => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', CODE], {
    cwd: REPOSITORY,
    encoding: 'utf8',
  })
  expect([stdout, stderr]).toEqual([
    'value 1 WebAssembly in memory: this host is not Node.js, and there is no node:fs\n',
    '',
  ])
})

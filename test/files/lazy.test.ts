/** Archives under WebAssembly are a module of their own, which only the first archive loads. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

const REPOSITORY = join(import.meta.dirname, '../..')

/** Prints the generated modules that are loaded: for entries and files, then for an archive. */
const CODE = `
import { mkdirSync, writeFileSync } from 'node:fs'
import { register } from 'node:module'
const hook = "import { writeSync } from 'node:fs'; export function load(url, context, next) { " +
  "if (url.includes('_bytes.js')) writeSync(1, url.split('/').at(-1) + ' '); return next(url, context) }"
register('data:text/javascript,' + encodeURIComponent(hook))
const { openCache } = await import('varve')
const [dir] = process.argv.slice(1)
mkdirSync(dir + '/tree')
writeFileSync(dir + '/tree/file', 'content')
const cache = await openCache({ name: 'lazy', dir: dir + '/cache', engine: 'wasm' })
cache.namespace('n').put('key', new Uint8Array(3))
const files = await cache.files.store(dir + '/tree')
await cache.commit()
await cache.files.restore(files, dir + '/restored')
process.stdout.write('archive: ')
await cache.files.exportTar(files, dir + '/tree.tar')
await cache.close()
`

it('a cache under WebAssembly loads the module for archives with the first archive, and not before', () => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', CODE, makeFolder()], {
    cwd: REPOSITORY,
    encoding: 'utf8',
  })
  expect([stdout, stderr]).toEqual(['varve_wasm_bytes.js archive: varve_archives_bytes.js ', ''])
})

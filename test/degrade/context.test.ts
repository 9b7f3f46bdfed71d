/** In a `vm` context, as Jest makes one for each test file, the errors of Node and of the addon are instances of another `Error`. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

const MODULE = new URL('../../packages/varve/dist/bundle/index.js', import.meta.url).href
const FLAGS = ['--no-warnings', '--experimental-vm-modules', '--input-type=module', '--eval']

/** Links Varve and what it imports in a new context, and prints the first lookup and the code of an error of the engine. */
const PROGRAM = `
  import { readFileSync } from 'node:fs'
  import { createContext, SourceTextModule, SyntheticModule } from 'node:vm'
  import { fileURLToPath } from 'node:url'
  const names = 'process console crypto performance Buffer URL TextEncoder TextDecoder setTimeout clearTimeout setImmediate'
  const context = createContext(Object.fromEntries(names.split(' ').map((name) => [name, globalThis[name]])))
  const modules = new Map()
  async function load(url) {
    if (url.startsWith('node:')) {
      const found = await import(url)
      const names = Object.keys(found)
      return new SyntheticModule(names, function () { for (const name of names) this.setExport(name, found[name]) }, { context })
    }
    return new SourceTextModule(readFileSync(fileURLToPath(url), 'utf8'), {
      context,
      identifier: url,
      initializeImportMeta: (meta) => void (meta.url = url),
      importModuleDynamically: async (name, from) => ready(await resolve(name, from)),
    })
  }
  async function resolve(name, from) {
    const url = name.startsWith('.') ? new URL(name, from.identifier).href : name
    if (!modules.has(url)) modules.set(url, load(url))
    return modules.get(url)
  }
  let last = Promise.resolve()
  const ready = (module) => (last = last.then(async () => {
    if (module.status === 'unlinked') await module.link(resolve)
    await module.evaluate()
    return module
  }))
  const { namespace: { openCache } } = await ready(await resolve(process.env.VARVE_MODULE, {}))
  const cache = await openCache({ name: 'x', dir: process.env.DIRECTORY, onWarning: console.log })
  const values = cache.namespace('n', { version: '1', codec: 'text' })
  values.put('key', 'value')
  await cache.commit()
  console.log(cache.status().engine, cache.status().degraded, values.get('key'))
  await cache.close()
  await openCache({ name: 'x', dir: process.env.DIRECTORY, secret: 'short' }).catch(({ code }) => console.log(code))
`

it.each(['native', 'wasm'])('%s: a new cache opens in a context of its own, where no error of Node is an Error', (engine) => {
  const folder = makeFolder()
  const env = { ...process.env, VARVE_ENGINE: engine, DIRECTORY: join(folder, 'cache'), VARVE_MODULE: MODULE }
  const output = execFileSync(process.execPath, [...FLAGS, PROGRAM], { cwd: folder, env, encoding: 'utf8' })
  expect(output).toBe(`${engine} undefined value\nINVALID_ARGUMENT\n`)
})

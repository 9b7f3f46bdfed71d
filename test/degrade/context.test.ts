/** In a `vm` context, as Jest makes one for each test file, the errors of Node and of the addon are instances of another `Error`. */
import { execFileSync } from 'node:child_process'
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

const MODULE = new URL('../../packages/varve/dist/bundle/index.js', import.meta.url).href
const FLAGS = ['--no-warnings', '--experimental-vm-modules', '--input-type=module', '--eval']

const REMOTE = new URL('../../packages/remote/dist/bundle/index.js', import.meta.url).href

/** Links modules and what they import in a new context: `use` gets one of them. */
const CONTEXT = `
  import { readFileSync } from 'node:fs'
  import { createRequire } from 'node:module'
  import { createContext, SourceTextModule, SyntheticModule } from 'node:vm'
  import { fileURLToPath } from 'node:url'
  const names = 'process console crypto performance Buffer URL TextEncoder TextDecoder setTimeout clearTimeout setImmediate'
  const context = createContext(Object.fromEntries(names.split(' ').map((name) => [name, globalThis[name]])))
  const modules = new Map()
  async function load(url) {
    if (!url.startsWith('file:')) {
      const found = await import(url.startsWith('node:') ? url : createRequire(process.env.REMOTE_MODULE).resolve(url))
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
    const own = { varve: process.env.VARVE_MODULE, 'varve/reads': process.env.VARVE_MODULE.replace('index.js', 'reads.js') }
    const url = name.startsWith('.') ? new URL(name, from.identifier).href : (own[name] ?? name)
    if (!modules.has(url)) modules.set(url, load(url))
    return modules.get(url)
  }
  let last = Promise.resolve()
  const ready = (module) => (last = last.then(async () => {
    if (module.status === 'unlinked') await module.link(resolve)
    await module.evaluate()
    return module
  }))
  const use = async (url) => (await ready(await resolve(url, {}))).namespace
`

/** Prints the first lookup and the code of an error of the engine. */
const PROGRAM = `${CONTEXT}
  const { openCache } = await use(process.env.VARVE_MODULE)
  const cache = await openCache({ name: 'x', dir: process.env.DIRECTORY, onWarning: console.log })
  const values = cache.namespace('n', { version: '1', codec: 'text' })
  values.put('key', 'value')
  await cache.commit()
  console.log(cache.status().engine, cache.status().degraded, values.get('key'))
  await cache.close()
  await openCache({ name: 'x', dir: process.env.DIRECTORY, secret: 'short' }).catch(({ code }) => console.log(code))
`

/** Prints what a remote directory has of an object that it does not have, and the code of an error of its files. */
const REMOTE_PROGRAM = `${CONTEXT}
  const { directory } = await use(process.env.REMOTE_MODULE)
  console.log(await directory(process.env.DIRECTORY).get('a/b'))
  await directory(process.env.DIRECTORY).put('file/b', Buffer.from('x')).catch(({ code }) => console.log(code))
  await directory(process.env.DIRECTORY + '/file').put('a', Buffer.from('x')).catch(({ code }) => console.log(code))
`

it.each(['native', 'wasm'])(
  '%s: a new cache opens in a context of its own, where no error of Node is an Error',
  (engine) => {
    const folder = makeFolder()
    const env = { ...process.env, VARVE_ENGINE: engine, DIRECTORY: join(folder, 'cache'), VARVE_MODULE: MODULE }
    const output = execFileSync(process.execPath, [...FLAGS, PROGRAM], { cwd: folder, env, encoding: 'utf8' })
    expect(output).toBe(`${engine} undefined value\nINVALID_ARGUMENT\n`)
  },
)

it('a directory that Node.js hides above the cache is no reason against the cache in such a context', () => {
  const folder = realpathSync(makeFolder())
  const env = { ...process.env, VARVE_ENGINE: 'wasm', DIRECTORY: join(folder, 'cache'), VARVE_MODULE: MODULE }
  const permission = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission'
  const repository = fileURLToPath(new URL('../../', import.meta.url))
  const allowed = [`--allow-fs-read=${folder}/*`, `--allow-fs-read=${repository}*`, `--allow-fs-write=${folder}/*`]
  const output = execFileSync(process.execPath, [permission, ...allowed, ...FLAGS, PROGRAM], {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  expect(output).toMatch(/^wasm \{\n {2}mode: 'unsynced'[^]*\} value\nINVALID_ARGUMENT\n$/m)
})

it('a remote directory in such a context misses an object that does not exist, and fails with a code of its own', () => {
  const folder = makeFolder()
  writeFileSync(join(folder, 'file'), '')
  const env = { ...process.env, DIRECTORY: folder, VARVE_MODULE: MODULE, REMOTE_MODULE: REMOTE }
  const output = execFileSync(process.execPath, [...FLAGS, REMOTE_PROGRAM], { cwd: folder, env, encoding: 'utf8' })
  expect(output).toBe('undefined\nREMOTE_UNAVAILABLE\nREMOTE_UNAVAILABLE\n')
})

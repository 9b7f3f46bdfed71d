/** Worker threads: native ones share one engine, WebAssembly ones are separate writers; ending one does not affect the others. */
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { ENGINES, type EngineName } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'

async function start(dir: string, engine: EngineName, execArgv: string[] = []): Promise<Worker> {
  const worker = new Worker(new URL('worker.mjs', import.meta.url), { workerData: { dir, engine }, execArgv })
  await once(worker, 'message')
  return worker
}

async function ask(worker: Worker, order: string, key = ''): Promise<unknown> {
  const answer = once(worker, 'message')
  worker.postMessage({ order, key })
  const [value]: unknown[] = await answer
  return value
}

/** Runs a script in a separate process. */
function run(
  script: string,
  flags: string[] = [],
  env: Record<string, string> = {},
): { status: number | null; text: string } {
  const args = [...flags, '--input-type=module', '--eval', `import { openCache } from 'varve'\n${script}`]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })
  return { status, text: stdout + stderr }
}

/** Runs a script in a process with a limit of the system. */
function limited(limit: string, script: string): { stdout: string; stderr: string } {
  const args = ['-c', `ulimit ${limit}; exec "$0" --input-type=module --eval "$1"`, process.execPath, script]
  return spawnSync('bash', args, { encoding: 'utf8' })
}

describe('worker threads', () => {
  it('native: all threads see a commit of one thread immediately', async () => {
    const dir = join(makeFolder(), 'cache')
    const [one, two] = await Promise.all([start(dir, 'native'), start(dir, 'native')])
    expect(await ask(one, 'put', 'a')).toBe('committed')
    expect(await ask(two, 'get', 'a')).toBe('value of a')
    await Promise.all([one.terminate(), two.terminate()])
  })

  it('WebAssembly: each thread is a separate writer and sees others after refresh', async () => {
    const dir = join(makeFolder(), 'cache')
    const [one, two] = await Promise.all([start(dir, 'wasm'), start(dir, 'wasm')])
    await ask(one, 'put', 'a')
    expect(await ask(two, 'get', 'a')).toBe(undefined)
    expect(await ask(two, 'refresh')).toBe(true)
    expect(await ask(two, 'get', 'a')).toBe('value of a')
    await Promise.all([one.terminate(), two.terminate()])
  })

  /** Node.js ends the process if a thread is ended just when it begins to decompress. */
  it('WebAssembly: a thread neither decompresses nor compiles the engine again', async () => {
    const dir = join(makeFolder(), 'cache')
    const cache = await openCache({ name: 'threads', dir, engine: 'wasm' })
    const forbid = `const forbidden = () => { throw new Error('once more') }
      process.getBuiltinModule('node:zlib').gunzipSync = forbidden
      WebAssembly.Module = new Proxy(WebAssembly.Module, { construct: forbidden })`
    const worker = await start(dir, 'wasm', ['--import', `data:text/javascript,${encodeURIComponent(forbid)}`])
    expect(await ask(worker, 'put', 'a')).toBe('committed')
    cache.refresh()
    expect(cache.namespace('n', { codec: 'text' }).get('a')).toBe('value of a')
    await Promise.all([cache.close(), worker.terminate()])
  })

  it.each(ENGINES)('%s: the uncommitted puts of a thread are discarded by its close()', async (engine) => {
    const dir = join(makeFolder(), 'cache')
    const [one, two] = await Promise.all([start(dir, engine), start(dir, engine)])
    expect(await ask(one, 'put and close', 'a')).toBe('closed')
    await ask(two, 'refresh')
    expect(await ask(two, 'get', 'a')).toBe('value of a')
    expect(await ask(two, 'put and close', 'b')).toBe('closed')
    const cache = await openCache({ name: 'threads', dir, engine })
    expect(cache.namespace('n', { codec: 'text' }).getMany(['a', 'b'])).toEqual(['value of a', 'value of b'])
    await Promise.all([cache.close(), one.terminate(), two.terminate()])
  })

  // The second length is more than the memory that an engine and JavaScript share.
  it.each([100, 100_000])(
    'native: getMany never mixes values of two commits of another thread, values of %i bytes',
    slow,
    async (bytes) => {
      const dir = join(makeFolder(), 'cache')
      const writer = await start(dir, 'native')
      const cache = await openCache({ name: 'threads', dir, engine: 'native' })
      const namespace = cache.namespace('n', { codec: 'text' })
      await ask(writer, 'pairs', 'x'.repeat(bytes))
      let before = ''
      for (let changes = 0; changes < 300;) {
        const [first = '', second = ''] = namespace.getMany(['first', 'second']).map((value) => value?.slice(0, 8))
        expect(second === first, `${first} beside ${second}`).toBe(true)
        if (first !== before) changes++
        before = first
      }
      await Promise.all([cache.close(), writer.terminate()])
    },
  )

  it.each(ENGINES)('%s: 20 threads that end during commits lose no acknowledged commit', slow, async (engine) => {
    const dir = join(makeFolder(), 'cache')
    for (let round = 0; round < 5; round++) {
      const workers = await Promise.all([0, 1, 2, 3].map(() => start(dir, engine)))
      await Promise.all(workers.map((worker, index) => ask(worker, 'storm', `${round}-${index}`)))
      await new Promise((resolve) => setTimeout(resolve, 20))
      await Promise.all(workers.map((worker) => worker.terminate()))
    }
    const cache = await openCache({ name: 'threads', dir, engine })
    expect((await cache.verify()).damage).toEqual([])
    expect(cache.namespace('n', { codec: 'text' }).has('0-0 0')).toBe(true)
    await cache.close()
  })
})

describe('a cache that is opened again in one process', () => {
  const other = (dir: string, value: string): unknown =>
    run(`const cache = await openCache({ name: 'threads', dir: ${JSON.stringify(dir)} })
    cache.namespace('n', { codec: 'text' }).put('k', '${value}')
    await cache.commit()
    await cache.close()`)

  it.each(ENGINES)('%s: a cache that is opened again shows later commits of other processes', async (engine) => {
    const dir = join(makeFolder(), 'cache')
    other(dir, 'old')
    const first = await openCache({ name: 'threads', dir, engine })
    other(dir, 'new')
    expect(first.namespace('n', { codec: 'text' }).get('k')).toBe('old')
    const second = await openCache({ name: 'threads', dir, engine })
    expect(second.namespace('n', { codec: 'text' }).get('k')).toBe('new')
    const worker = await start(dir, engine)
    expect(await ask(worker, 'get', 'k')).toBe('new')
    await worker.terminate()
    await Promise.all([first.close(), second.close()])
  })

  it.each(ENGINES)('%s: a compaction does not show commits of other processes', async (engine) => {
    const dir = join(makeFolder(), 'cache')
    other(dir, 'old')
    const cache = await openCache({ name: 'threads', dir, engine })
    const space = cache.namespace('n', { codec: 'text' })
    other(dir, 'new')
    for (const full of [false, true]) {
      await cache.compact({ full })
      expect(space.get('k')).toBe('old')
    }
    space.put('own', 'value')
    await cache.commit()
    expect([space.get('k'), space.get('own')]).toEqual(['new', 'value'])
    await cache.close()
  })
})

describe('processes', () => {
  it.each(ENGINES)('%s: process.exit during a commit ends with its exit code', (engine) => {
    const dir = join(makeFolder(), 'cache')
    const script = `const cache = await openCache({ name: 'x', dir: ${JSON.stringify(dir)}, engine: '${engine}' })
      cache.namespace('n').put('k', new Uint8Array(3_000_000))
      void cache.commit({ durability: 'durable' })
      setTimeout(() => process.exit(7), 1)`
    expect(run(script)).toEqual({ status: 7, text: '' })
  })

  const which =
    "const c = await openCache({ name: 'x', dir: process.argv[1] }); console.log(c.status().engine); await c.close()"

  it('--no-addons falls back to WebAssembly', () => {
    const { status, text } = run(which.replace('process.argv[1]', JSON.stringify(join(makeFolder(), 'c'))), [
      '--no-addons',
    ])
    expect([status, text.trim()]).toEqual([0, 'wasm'])
  })

  it.each(ENGINES)('VARVE_ENGINE=%s chooses the engine in each thread', (engine) => {
    const { text } = run(which.replace('process.argv[1]', JSON.stringify(join(makeFolder(), 'c'))), [], {
      VARVE_ENGINE: engine,
    })
    expect(text.trim()).toBe(engine)
  })

  it('a native engine that cannot be had is an error with a way out', () => {
    const script =
      "await openCache({ name: 'x', engine: 'native' }).catch((error) => console.log(error.code, error.message))"
    const { text } = run(script, ['--no-addons'])
    expect(text).toMatch(/^ENGINE_UNAVAILABLE .*no-addons.*'auto'/)
  })

  it.skipIf(process.platform !== 'linux')(
    'an address space too small for WebAssembly is a warning that names the fix, and the cache is in memory',
    () => {
      const { stdout } = limited(
        '-v 4194304',
        `import { openCache } from 'varve'
      const onWarning = ({ code, message }) => console.log(code, message)
      await openCache({ name: 'x', engine: 'wasm', dir: '/nowhere', onWarning })`,
      )
      expect(stdout).toMatch(/^ENGINE_UNAVAILABLE .*address space.*ulimit/)
    },
  )

  it.skipIf(process.platform !== 'linux').each(ENGINES)(
    '%s: 300 namespaces are opened and written with 256 file descriptors',
    slow,
    (engine) => {
      const dir = JSON.stringify(join(makeFolder(), 'cache'))
      const script = (work: string): string => `import { openCache } from 'varve'
      const cache = await openCache({ name: 'x', dir: ${dir}, engine: '${engine}' })
      const space = (at) => cache.namespace('n' + at, { codec: 'text' })
      ${work}
      await cache.close()`
      const fill = `for (let at = 0; at < 300; at++) space(at).put('k', 'v' + at)
      await cache.commit()
      await cache.compact({ full: true })`
      const read = `let found = 0
      for (let at = 0; at < 300; at++) found += space(at).get('k') === 'v' + at ? 1 : 0
      space('own').put('k', 'v')
      console.log(found, (await cache.commit()).entries)`
      for (const [work, limit] of [
        [fill, 4096],
        [read, 256],
      ] as const) {
        const { stdout, stderr } = limited(`-n ${limit}`, script(work))
        expect([stdout.trim(), stderr]).toEqual([work === read ? '300 1' : '', ''])
      }
    },
  )

  it('require() of the package works without a warning', () => {
    const script = "const { openCache } = require('varve'); console.log(typeof openCache)"
    expect(execFileSync(process.execPath, ['--eval', script], { encoding: 'utf8' }).trim()).toBe('function')
    expect(spawnSync(process.execPath, ['--eval', script], { encoding: 'utf8' }).stderr).toBe('')
  })
})

/** `varve watch` and `varve caches`: what other processes commit, and what there is. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { MAIN, type Ran, runVarve } from '../command.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { slow } from '../slow.ts'

/** A running `varve watch`, and all that it has printed. */
class Watching {
  readonly child: ChildProcess
  #out = ''

  constructor(...args: string[]) {
    this.child = spawn(process.execPath, [MAIN, 'watch', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.child.stdout?.on('data', (chunk) => (this.#out += String(chunk)))
  }

  /** Waits for text in the output. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#out)) {
      if (this.child.exitCode !== null) throw new Error(`watch ended, after: ${this.#out}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return this.#out
  }

  /** As Ctrl-C does. */
  async interrupt(): Promise<{ readonly code: unknown; readonly out: string }> {
    const ended = new Promise((resolve) => this.child.once('close', resolve))
    this.child.kill('SIGINT')
    return { code: await ended, out: this.#out }
  }
}

describe('varve watch', () => {
  it('prints a line for each change of another process and for the end of a build, and ends at SIGINT', async () => {
    const dir = join(makeFolder(), 'site')
    const cache = await openCache({ name: 'site', dir })
    const pages = cache.namespace('pages', { codec: 'text' })
    pages.put('first', 'there before')
    await cache.commit()
    const watching = new Watching('--dir', dir)
    // Commits until the first is seen: the command needs some time to start.
    for (let number = 0; !/\+\d+ entries/.test(await Promise.race([watching.until(/entries/), pause()])); number++) {
      pages.put(`page ${number}`, 'value')
      await cache.commit()
    }
    cache.recordBuild({ hits: 7, misses: 2, savedMs: 1500 })
    await cache.close()
    await watching.until(/ended/)
    const { code, out } = await watching.interrupt()
    expect(code).toBe(0)
    expect(out).toMatch(/^\d\d:\d\d:\d\d {2}site: \+\d+ entries, [+-][\d.]+ \w*B \(\d+ entries, [\d.]+ \w*B\)$/m)
    expect(out).toMatch(/^\d\d:\d\d:\d\d {2}site: build of site ended after .*: 7 of 9 from cache, 1\.5s saved$/m)
  })

  it('waits for the first cache, writes nothing there, and its JSON is complete when it ends', async () => {
    const folder = makeFolder()
    const watching = new Watching('--dir', folder, '--json')
    await watching.until(/"events": \[/)
    const cache = await openCache({ name: 'new', dir: join(folder, 'new') })
    for (let number = 0; number < 10; number++) cache.namespace('a', { codec: 'text' }).put(`${number}`, 'value')
    await cache.close()
    const before = snapshot(folder)
    await watching.until(/"build"/)
    const { code, out } = await watching.interrupt()
    const { format, events } = JSON.parse(out)
    expect([code, format, snapshot(folder)]).toEqual([0, 1, before])
    expect(events[0]).toMatchObject({ dir: join(folder, 'new'), entries: 10, newEntries: 10 })
    expect(events.at(-1)).toMatchObject({ newEntries: 0, build: { name: 'new' } })
  })

  it('ends after --for, and refuses a time that is none', () => {
    const { status, out } = runVarve(['watch', '--for', '0.2', '--dir', makeFolder()])
    expect([status, out]).toEqual([0, ''])
    const wrong = runVarve(['watch', '--for', 'long', '--dir', makeFolder()])
    expect(wrong).toMatchObject({ status: 2, err: expect.stringContaining("invalid time 'long'") })
  })

  // `script` of util-linux gives a command a terminal.
  it.runIf(spawnSync('script', ['--version']).status === 0)('updates one line on a terminal', slow, async () => {
    const dir = join(makeFolder(), 'site')
    const cache = await openCache({ name: 'site', dir, history: 'never' })
    for (let number = 0; number < 3; number++) cache.namespace('a', { codec: 'text' }).put(`${number}`, 'value')
    await cache.close()
    const line = `stty cols 60; "${process.execPath}" "${MAIN}" watch --for 4 --dir "${dir}"`
    const child = spawn('script', ['-qec', line, '/dev/null'], { stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    child.stdout.on('data', (chunk) => (out += String(chunk)))
    const ended = new Promise((resolve) => child.once('close', resolve))
    const again = await openCache({ name: 'site', dir, history: 'never' })
    for (let number = 0; child.exitCode === null && out.split('\r\u001b[2K').length < 4; number++) {
      again.namespace('a', { codec: 'text' }).put(`more ${number}`, 'value')
      await again.commit()
      await pause()
    }
    await again.close()
    await ended
    // One line, written several times, and no longer than the terminal is wide.
    expect(out.trimEnd().split('\n').length).toBe(1)
    const [title, ...updates] = out.trimEnd().split('\r\u001b[2K')
    expect([title, updates.length >= 2]).toEqual([expect.stringContaining('watching'), true])
    for (const update of updates) expect(update).toMatch(/^\d\d:\d\d:\d\d {2}site: .{1,43}$/)
  })
})

describe('varve caches', () => {
  it('lists the caches of the project and of VARVE_DIR with sizes, tools and a total', async () => {
    const [folder, elsewhere] = [makeFolder(), makeFolder()]
    writeFileSync(join(folder, 'package.json'), '{}')
    const [one, two] = [join(folder, 'node_modules/.cache/varve/one'), join(elsewhere, 'two')]
    for (const [name, dir] of [
      ['one', one],
      ['two', two],
    ] as const) {
      const cache = await openCache({ name, dir, history: name === 'one' ? 'auto' : 'never' })
      cache.namespace('pages', { codec: 'text' }).put('key', 'value')
      await cache.close()
    }
    const secret = 'a secret of at least thirty-two bytes'
    const locked = await openCache({ name: 'locked', dir: join(elsewhere, 'locked'), secret })
    locked.namespace('pages', { codec: 'text' }).put('key', 'value')
    await locked.close()
    const options = { cwd: folder, env: { VARVE_DIR: elsewhere, VARVE_SECRET: '' } }
    const run = (...args: string[]): Ran => runVarve(['caches', ...args], options)
    const { caches, entries, bytes } = JSON.parse(run('--json').out)
    expect(caches).toMatchObject(
      [
        { dir: join(elsewhere, 'locked'), entries: 0, problem: expect.stringContaining('VARVE_SECRET') },
        { dir: two, tools: [], namespaces: ['pages'], entries: 1, problem: null },
        { dir: one, tools: ['one'], entries: 1, problem: null },
      ].sort((left, right) => (left.dir < right.dir ? -1 : 1)),
    )
    expect([entries, bytes]).toEqual([2, caches[0].bytes + caches[1].bytes + caches[2].bytes])
    expect(Date.now() - caches.find(({ dir }: { dir: string }) => dir === one).usedMs).toBeLessThan(600_000)
    const { status, out } = run()
    expect([status, out]).toEqual([0, expect.stringMatching(/^node_modules.*one +one +1 /m)])
    expect(out).toMatch(/^3 caches, 2 entries, /m)
  })

  it('varve caches reports a directory without caches', () => {
    const folder = makeFolder()
    expect(runVarve(['caches', '--dir', folder])).toEqual({ status: 0, out: `no caches in '${folder}'\n`, err: '' })
  })
})

function pause(): Promise<string> {
  return new Promise((resolve) => setTimeout(() => resolve(''), 300))
}

/** `varve view`: serves the page until it is stopped, or writes one file. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeCache } from '../../scripts/screenshots/cache.mjs'
import { MAIN, runVarve } from '../command.ts'
import { makeFolder, snapshot } from '../folders.ts'

describe('varve view', () => {
  it('varve view prints the address of its page, answers there, and ends with Ctrl-C', async () => {
    const folder = makeFolder()
    const dir = await makeCache(folder, { builds: 1 })
    const before = snapshot(dir)
    const child = spawn(process.execPath, [MAIN, 'view', '--dir', dir], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [printed] = await once(child.stdout, 'data')
    const [url = ''] = String(printed).split('\n')
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/)
    expect(await (await fetch(url)).text()).toContain('<title>Varve</title>')
    const { result } = JSON.parse(await (await fetch(`${url}overview`)).text())
    expect(result.caches).toMatchObject([{ dir, builds: [{ name: 'bundler', hits: 0 }] }])
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(snapshot(dir)).toEqual(before)
  })

  it('varve view --out writes one file that names nothing outside of it, with what --json prints', async () => {
    const folder = makeFolder()
    const dir = await makeCache(folder, { builds: 2 })
    const out = join(folder, 'report.html')
    expect(runVarve(['view', '--dir', dir, '--out', out, '--verify'], { cwd: folder })).toMatchObject({
      status: 0,
      out: `${out}\n`,
    })
    // It has names and keys of the project, and was readable for all users; a reader could see half of it.
    const others = readdirSync(folder).filter((name) => name.startsWith('.varve-'))
    expect([process.platform === 'win32' ? 0o600 : statSync(out).mode & 0o777, others]).toEqual([0o600, []])
    const html = readFileSync(out, 'utf8')
    expect(html).toContain("connect-src 'none'")
    const [, data = ''] = /<script type="application\/json" id="data">([^]*?)<\/script>/.exec(html) ?? []
    const json = JSON.parse(runVarve(['view', '--dir', dir, '--verify', '--json'], { cwd: folder }).out)
    expect({ ...JSON.parse(data), createdMs: 0, findings: [] }).toEqual({ ...json, createdMs: 0, findings: [] })
    expect(json.caches[0]).toMatchObject({ verify: { sound: true }, contents: { made: { count: 27 } } })
    expect(json.caches[0].records.length).toBe(27)
  })

  // Both were internal errors.
  it('a file that cannot be written, and a port that cannot be used, are errors that name them', async () => {
    const folder = makeFolder()
    const dir = await makeCache(folder, { builds: 1 })
    const fail = (...args: string[]): string => {
      const { status, err } = runVarve([...args, '--dir', dir], { cwd: folder })
      expect(status, err).toBe(4)
      return err
    }
    const missing = join(folder, 'missing/report')
    expect(fail('view', '--out', missing)).toContain(`cannot write '${missing}': ENOENT`)
    expect(fail('export', '--output', missing)).toContain(`cannot write '${missing}': ENOENT`)
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    expect(fail('view', '--port', port)).toContain(`cannot serve the page on port ${port}: listen EADDRINUSE`)
    other.close()
    expect(runVarve(['view', '--dir', dir, '--port', '65536'], { cwd: folder })).toMatchObject({ status: 2 })
    expect(runVarve(['view', '--dir', dir, '--port', ''], { cwd: folder })).toMatchObject({ status: 2 })
  })

  it('a key that closes elements stays text in the file of varve view --out', async () => {
    const folder = makeFolder()
    const hostile = '</script><script>alert(1)</script><!--'
    const dir = await makeCache(folder, { builds: 1, hostile })
    const out = join(folder, 'report.html')
    expect(runVarve(['view', '--dir', dir, '--out', out], { cwd: folder }).status).toBe(0)
    const html = readFileSync(out, 'utf8')
    expect([html.includes(hostile), html.includes('<script>alert'), html.match(/<script/g)?.length]).toEqual([
      false,
      false,
      2,
    ])
    expect(html).toContain(String.raw`\u003c/script>\u003cscript>alert(1)`)
  })

  it('no credentials of a remote are in the page, also if the address is not valid', async () => {
    const folder = makeFolder()
    const dir = await makeCache(folder, { builds: 1 })
    for (const address of [
      'https://user:hunter2@host/path?token=hunter2',
      'user:hunter2@host',
      's3//key:hunter2@bucket',
    ]) {
      const { status, out } = runVarve(['view', '--dir', dir, '--json'], {
        cwd: folder,
        env: { VARVE_REMOTE: address, VARVE_OFFLINE: '1' },
      })
      expect([status, out.includes('hunter2')], address).toEqual([0, false])
      expect(JSON.parse(out).remote).toMatchObject({ offline: true })
    }
  })

  it('varve view without its package prints how to install it, and a directory without a cache is exit code 3', async () => {
    const folder = makeFolder()
    const dir = await makeCache(folder, { builds: 1 })
    const installed = join(folder, 'node_modules/varve')
    const varve = dirname(dirname(dirname(MAIN)))
    mkdirSync(installed, { recursive: true })
    for (const part of ['dist/bundle', 'generated', 'native', 'package.json']) {
      if (existsSync(join(varve, part))) cpSync(join(varve, part), join(installed, part), { recursive: true })
    }
    const main = join(installed, 'dist/bundle/cli.js')
    const { status, stderr } = spawnSync(process.execPath, [main, 'view', '--dir', dir], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([
      2,
      "varve: '@varve/view' is not installed; run 'npm install --save-dev @varve/view'\n",
    ])
    expect(runVarve(['view', '--dir', join(folder, 'none')], { cwd: folder }).status).toBe(3)
  })
})

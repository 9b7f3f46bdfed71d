/** `varve export`, `import`, `diff`, `clear`, `gc` and `top`: files and pipes, counts, exit codes. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import {
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { openCache } from 'varve'
import { describe, expect, it, vi } from 'vitest'
import { MAIN, type Ran, runVarve } from '../command.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { randomOf } from '../random.ts'
import { slow } from '../slow.ts'

const NASTY = ['plain', 'line\nbreak', '\u001b[31mred', 'nul\0', 'back\\slash', 'c1\u009b31m', 'ü']

const varve = (args: readonly string[], input = '', engine = 'auto'): Ran =>
  runVarve(args, { input, env: { VARVE_ENGINE: engine } })

async function makeCache(dir: string = join(makeFolder(), 'cache'), count = 300): Promise<string> {
  const cache = await openCache({ name: 'cli', dir })
  const text = cache.namespace('text', { version: '2', codec: 'text' })
  for (const key of NASTY) text.put(key, `value of ${key}`)
  const bytes = cache.namespace('bytes')
  bytes.put(new Uint8Array([0xff, 0xfe]), new Uint8Array([0, 1, 2]))
  for (let number = 0; number < count; number++) bytes.put(`key ${number}`, new Uint8Array(3000 + number).fill(number))
  await cache.commit()
  await cache.close()
  return dir
}

describe('varve export and import', () => {
  it('varve export and import use a file, the same on both engines, and an export writes nothing to the cache', async () => {
    const [dir, folder] = [await makeCache(), makeFolder()]
    const before = snapshot(dir)
    const [file, ndjson, target] = [join(folder, 'a.json'), join(folder, 'a.ndjson'), join(folder, 'target')]
    const written = varve(['export', '--dir', dir, '-o', file])
    expect(written).toMatchObject({ status: 0, err: '', out: expect.stringContaining('308 entries of 2 namespaces') })
    const report = JSON.parse(
      varve(['export', '--dir', dir, '--format', 'ndjson', '--output', ndjson, '--json'], '', 'wasm').out,
    )
    expect(report).toEqual({ format: 1, file: ndjson, entries: 308, namespaces: 2, bytes: statSync(ndjson).size })
    expect(snapshot(dir)).toEqual(before)
    expect(readdirSync(folder)).toEqual(['a.json', 'a.ndjson'])
    expect(statSync(file).mode & 0o077).toBe(0)

    const taken = varve(['import', ndjson, '--dir', target])
    expect(taken).toMatchObject({
      status: 0,
      err: '',
      out: expect.stringContaining('308 entries of 2 namespaces, 1 commit'),
    })
    expect(varve(['export', '--dir', target], '', 'wasm').out === readFileSync(file, 'utf8')).toBe(true)
  })

  it('varve export and import use pipes, also with a reader that stops early', async () => {
    const dir = await makeCache(undefined, 3000)
    const { status, out, err } = varve(['export', '--dir', dir, '--namespace', 'text', '--format', 'ndjson', '-o', '-'])
    expect([status, err]).toEqual([0, ''])
    expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).key)
        .sort(),
    ).toEqual([...NASTY].sort())
    const target = join(makeFolder(), 'target')
    for (const args of [[], ['-']]) {
      const report = JSON.parse(varve(['import', ...args, '--dir', target, '--json'], out).out)
      expect(report).toEqual({
        format: 1,
        dir: target,
        entries: 7,
        namespaces: 1,
        commits: 1,
        bytes: Buffer.byteLength(out),
      })
    }
    const child = spawn(process.execPath, [MAIN, 'export', '--dir', dir], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk) => (said += String(chunk)))
    child.stdout.once('data', () => child.stdout.destroy())
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect([code, said]).toEqual([0, ''])
  })

  it('varve export supports --keys-only, and refuses a missing namespace and a wrong format', async () => {
    const dir = await makeCache()
    const keys = JSON.parse(varve(['export', '--dir', dir, '--keys-only', '--namespace', 'bytes']).out)
    expect(keys.length).toBe(301)
    expect(keys.find(({ key }: { key?: string }) => key === 'key 7')).toEqual({
      namespace: 'bytes',
      version: '',
      key: 'key 7',
      valueBytes: 3007,
    })
    const nothing = varve(['export', '--dir', dir, '--namespace', 'nothing'])
    expect(nothing).toMatchObject({ status: 2, out: '', err: expect.stringContaining("the cache has 'bytes', 'text'") })
    expect(varve(['export', '--dir', dir, '--format', 'xml'])).toMatchObject({ status: 2, out: '' })
    expect(varve(['export', '--dir', makeFolder()]).status).toBe(3)
  })

  it('an export to an unwritable file changes nothing and leaves no file', async () => {
    const [dir, folder] = [await makeCache(), makeFolder()]
    const file = join(folder, 'file')
    mkdirSync(file)
    const { status, err } = varve(['export', '--dir', dir, '-o', file])
    expect([status, readdirSync(folder)]).toEqual([4, ['file']])
    expect(err).toContain(`cannot write '${file}'`)
    expect(varve(['export', '--dir', dir, '-o', join(folder, 'missing', 'file')])).toMatchObject({ status: 4, out: '' })
  })

  it.skipIf(process.platform === 'win32')('an export to a pipe, a device or a link does not replace it', async () => {
    const [dir, folder] = [await makeCache(), makeFolder()]
    const [pipe, link, file] = ['pipe', 'link', 'file'].map((name) => join(folder, name)) as [string, string, string]
    execFileSync('mkfifo', [pipe])
    const reading = textOf(createReadStream(pipe))
    const report = await new Promise((done) =>
      execFile(process.execPath, [MAIN, 'export', '--dir', dir, '-o', pipe], done),
    )
    expect([report, JSON.parse(await reading).length, lstatSync(pipe).isFIFO()]).toEqual([null, 308, true])
    writeFileSync(file, 'old')
    symlinkSync('file', link)
    expect(varve(['export', '--dir', dir, '-o', link]).status).toBe(0)
    expect([lstatSync(link).isSymbolicLink(), JSON.parse(readFileSync(file, 'utf8')).length]).toEqual([true, 308])
  })

  it('an import of another file names line and field, exits with 2, and writes nothing', async () => {
    const target = join(makeFolder(), 'target')
    const good = '{"namespace":"n","version":"","key":"a","base64":"AA=="}\n'
    const { status, out, err } = varve(
      ['import', '--dir', target],
      `${good}{"namespace":"n","version":"","key":"\u009b","text":1}`,
    )
    expect([status, out, err]).toEqual([2, '', "varve: line 2: field 'text' is not a string\n"])
    expect(existsSync(target)).toBe(false)
    const hostile = varve(['import', '--dir', target, '--json'], '{"\u001b[31m\u009b":1}')
    expect(JSON.parse(hostile.out).error.code).toBe('INVALID_ARGUMENT')
    expect(varve(['import', '--dir', target], '{"\u007f\u009b":1}').err.trimEnd()).not.toMatch(/\p{Cc}/u)
    expect(varve(['import', join(target, 'missing'), '--dir', target])).toMatchObject({ status: 2, out: '' })
    expect(varve(['import', makeFolder(), '--dir', target])).toMatchObject({
      status: 2,
      err: expect.stringContaining('is a directory'),
    })
  })

  it.skipIf(process.platform === 'win32')(
    'a file that cannot be opened is an error, also behind a progress bar',
    async () => {
      const [dir, folder] = [await makeCache(undefined, 1), makeFolder()]
      const [terminal, socket] = [join(folder, 'terminal.cjs'), join(folder, 'socket')]
      writeFileSync(terminal, 'process.stderr.isTTY = true')
      const env = { NODE_OPTIONS: `--require ${terminal}` }
      const exported = runVarve(['export', '--dir', dir, '-o', join(folder, 'missing', 'file')], { env })
      expect(exported).toMatchObject({
        status: 4,
        out: '',
        err: expect.stringContaining(`cannot write '${join(folder, 'missing', 'file')}'`),
      })
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(socket, resolve))
      const imported = varve(['import', socket, '--dir', dir])
      server.close()
      expect(imported).toMatchObject({
        status: 4,
        out: '',
        err: expect.stringMatching(/^varve: the stream failed: ENXIO.*\n$/),
      })
    },
  )

  it('varve import replaces a namespace of another version only with --overwrite', async () => {
    const dir = await makeCache()
    const line = '{"namespace":"text","version":"3 text","key":"new","text":"x"}\n'
    expect(varve(['import', '--dir', dir], line)).toMatchObject({
      status: 2,
      err: expect.stringContaining("has '2 text' in this cache"),
    })
    expect(varve(['import', '--dir', dir, '--overwrite'], line).status).toBe(0)
    expect(varve(['export', '--dir', dir, '--namespace', 'text', '--format', 'ndjson']).out).toBe(line)
  })
})

describe('varve gc and ls --sort', () => {
  it('varve clear --namespace removes one namespace and keeps the others', slow, async () => {
    for (const engine of ['native', 'wasm']) {
      const dir = await makeCache()
      expect(varve(['clear', '--dir', dir, '--yes', '--namespace', 'nothing'], '', engine)).toMatchObject({
        status: 2,
        out: '',
      })
      const { status, out } = varve(['clear', '--dir', dir, '--yes', '--namespace', 'bytes', '--json'], '', engine)
      const [report] = JSON.parse(out).caches
      expect([status, report.entriesCleared]).toEqual([0, 301])
      expect(report.bytesAfter).toBeLessThan(report.bytesBefore)
      const { entries: left } = JSON.parse(varve(['ls', '--dir', dir, '--json']).out)
      expect(left.map(({ namespace }: { namespace: string }) => namespace)).toEqual(NASTY.map(() => 'text'))
      expect(varve(['clear', '--dir', dir, '--yes', '--namespace', 'text'], '', engine).out).toContain(
        '7 entries removed',
      )
    }
  })

  it('varve gc reports what it freed, and enforces a cap', slow, async () => {
    for (const engine of ['native', 'wasm']) {
      const dir = join(makeFolder(), 'cache')
      const cache = await openCache({ name: 'cli', dir, history: 'never' }) // a record after the compaction would be something to free
      const random = randomOf(7)
      for (let round = 0; round < 3; round++) {
        const space = cache.namespace(`round ${round}`)
        for (let number = 0; number < 400; number++)
          space.put(
            `key ${number}`,
            Uint8Array.from({ length: 3000 }, () => random(256)),
          )
        await cache.commit()
      }
      await cache.compact({ full: true })
      await cache.close()
      expect(varve(['gc', '--dir', dir], '', engine)).toMatchObject({ status: 0, out: `${dir}\nnothing to free\n` })
      const { status, out } = varve(['gc', '--dir', dir, '--max-bytes', '2MB', '--json'], '', engine)
      const [report] = JSON.parse(out).caches
      expect([status, report.bytesFreed]).toEqual([0, report.bytesBefore - report.bytesAfter])
      expect(report.bytesAfter).toBeLessThanOrEqual(2e6)
      expect(report.bytesFreed).toBeGreaterThan(0)
      const [{ namespaces }] = JSON.parse(varve(['stats', '--dir', dir, '--json']).out).caches
      const left = namespaces.reduce((sum: number, { entries }: { entries: number }) => sum + entries, 0)
      expect(report.entriesDropped).toBe(1200 - left)
      expect(varve(['repair', '--check', '--dir', dir]).status).toBe(0)
      expect(varve(['gc', '--dir', dir, '--max-bytes', '1'], '', engine).status).toBe(2)
    }
  })

  it('varve ls --sort lists the largest entries', async () => {
    const dir = await makeCache()
    const { entries } = JSON.parse(varve(['ls', '--sort', 'size', '--dir', dir, '--limit', '2', '--json']).out)
    const newest = { usedMs: null, writtenMs: expect.any(Number) }
    expect(entries).toEqual(
      [299, 298].map((number) => ({ namespace: 'bytes', key: `key ${number}`, valueBytes: 3000 + number, ...newest })),
    )
    const { out } = varve(['ls', '--sort', 'size', '--dir', dir, '--namespace', 'text'])
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(out).toContain('\\x1b[31mred')
  })

  it("ls --sort reports what was written today as 'never' used", async () => {
    const dir = await makeCache()
    expect(
      varve(['ls', '--sort', 'size', '--dir', dir, '--limit', '1'])
        .out.split('\n')
        .find((line) => line.includes('key 299')),
    ).toMatch(/ {2}- +\d+m?s {2}/)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3 * 86_400_000 })
    const old = await makeCache().finally(() => vi.useRealTimers())
    expect(
      varve(['ls', '--sort', 'size', '--dir', old, '--limit', '1'])
        .out.split('\n')
        .find((line) => line.includes('key 299')),
    ).toMatch(/ {2}never {2}/)
  })

  it('varve ls --sort lists the oldest and the never used entries, on either engine', slow, async () => {
    const dir = await makeCache()
    // A build of tomorrow reads one entry, with the one engine or the other.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 })
    try {
      for (const [engine, key] of [
        ['native', 'key 299'],
        ['wasm', 'key 298'],
      ] as const) {
        const cache = await openCache({ name: 'cli', dir, engine })
        expect(cache.namespace('bytes').get(key)).toBeDefined()
        await cache.close()
      }
    } finally {
      vi.useRealTimers()
    }
    for (const engine of ['native', 'wasm']) {
      const sorted = (...more: string[]): string =>
        varve(['ls', '--dir', dir, '--namespace', 'bytes', '--sort', ...more], '', engine).out
      const never = JSON.parse(sorted('used', '--limit', '1', '--json'))
      expect(never.entries).toMatchObject([{ key: 'key 297', usedMs: null }])
      const stats = JSON.parse(varve(['stats', '--dir', dir, '--json'], '', engine).out)
      expect(stats.caches[0].namespaces[0]).toMatchObject({ name: 'bytes', entries: 301, neverUsedEntries: 299 })
      const oldest = JSON.parse(sorted('age', '--limit', '400', '--json'))
      expect(
        oldest.entries
          .slice(-2)
          .map(({ key }: { key: string }) => key)
          .sort(),
      ).toEqual(['key 298', 'key 299'])
      expect(oldest.entries.at(-1).usedMs).toBeGreaterThan(Date.now() - 86_400_000)
      expect(sorted('size', '--limit', '1')).toMatch(/last used/)
      expect(varve(['ls', '--dir', dir, '--sort', 'largest'], '', engine)).toMatchObject({ status: 2, out: '' })
    }
  })
})

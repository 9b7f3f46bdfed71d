/** `varve`: text for people, JSON for programs, exit codes; reading commands write nothing. */
import { spawnSync, type StdioOptions } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { MAIN, type Ran, runVarve } from '../command.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { slow } from '../slow.ts'

const varve = (...args: string[]): Ran => runVarve(args)

const NASTY = ['plain', 'line\nbreak', '\u001b[31mred', 'nul\0', 'back\\slash', 'turn\u202eed', 'ü']

async function makeCache(dir: string = join(makeFolder(), 'cache')): Promise<string> {
  const cache = await openCache({ name: 'cli', dir, history: 'never' })
  const text = cache.namespace('text', { version: '2', codec: 'text' })
  for (const key of NASTY) text.put(key, `value of ${key}`)
  const bytes = cache.namespace('bytes')
  bytes.put(new Uint8Array([0xff, 0xfe]), new Uint8Array([0, 1, 2]))
  for (let number = 0; number < 500; number++) bytes.put(`key ${number}`, new Uint8Array(3000).fill(number))
  await cache.commit()
  await cache.close()
  return dir
}

describe('varve', () => {
  it('varve stats prints text, and JSON with --json', async () => {
    const dir = await makeCache()
    const text = varve('stats', '--dir', dir)
    expect([text.status, text.err]).toEqual([0, ''])
    expect(text.out).toMatch(/text .* 7 /)
    const { status, out } = varve('stats', '--dir', dir, '--json')
    const [stats] = JSON.parse(out).caches
    expect([status, stats.dir]).toEqual([0, dir])
    const counts = stats.namespaces.map(({ name, entries }: { name: string; entries: number }) => [name, entries])
    expect(counts).toEqual([
      ['bytes', 501],
      ['text', 7],
    ])
  })

  it('varve ls escapes control characters, and varve get accepts the escaped key', slow, async () => {
    const dir = await makeCache()
    const { out } = varve('ls', '--dir', dir, '--namespace', 'text')
    const lines = out.trimEnd().split('\n')
    expect(lines.length).toBe(NASTY.length)
    // Nothing but printable characters and the ends of lines.
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    const values = lines.map((line) => varve('get', line, '--dir', dir).out)
    expect(values.sort()).toEqual(NASTY.map((key) => `value of ${key}`).sort())
    const binary = varve('get', String.raw`\xff\xfe`, '--dir', dir, '--json')
    expect(JSON.parse(binary.out).entry).toMatchObject({ keyBase64: '//4=', value: '\0\u0001\u0002' })
  })

  it('varve ls supports --limit, --long and --json', async () => {
    const dir = await makeCache()
    expect(varve('ls', '--dir', dir, '--limit', '3').out.trimEnd().split('\n').length).toBe(3)
    expect(varve('ls', '--dir', dir, '--namespace', 'bytes', '--long', '--limit', '1').out).toMatch(/KiB|B/)
    const { entries } = JSON.parse(varve('ls', '--dir', dir, '--json').out)
    expect(entries.length).toBe(508)
    expect(varve('ls', '--dir', dir, '--limit', 'x').status).toBe(2)
  })

  it('varve get of a missing key exits with 1', async () => {
    const dir = await makeCache()
    const { status, out, err } = varve('get', 'nothing', '--dir', dir)
    expect([status, out, err]).toEqual([1, '', "varve: no entry 'nothing'\n"])
  })

  it('varve repair --check names the file and the byte of damage, and exits with 1', async () => {
    const dir = await makeCache()
    expect(varve('repair', '--check', '--dir', dir)).toMatchObject({ status: 0, out: expect.stringContaining('sound') })
    const table = readdirSync(join(dir, 'v1')).find((name) => name.endsWith('.table')) ?? ''
    const bytes = readFileSync(join(dir, 'v1', table))
    bytes[100] = (bytes[100] ?? 0) ^ 1
    writeFileSync(join(dir, 'v1', table), bytes)
    const { status, out } = varve('repair', '--check', '--dir', dir, '--json')
    const [report] = JSON.parse(out).caches
    expect([status, report.sound, report.damage[0].file]).toEqual([1, false, table])
    expect(varve('doctor', '--dir', dir).status).toBe(varve('doctor', '--dir', dir, '--json').status)
  })

  it('reading commands write nothing, and varve gc --full leaves one table per namespace', slow, async () => {
    const dir = await makeCache()
    const before = snapshot(dir)
    for (const command of [['stats'], ['ls'], ['repair', '--check'], ['doctor']]) varve(...command, '--dir', dir)
    expect(snapshot(dir)).toEqual(before)
    expect(JSON.parse(varve('gc', '--full', '--dir', dir, '--json').out)).toMatchObject({ caches: [{ dir }] })
    expect(readdirSync(join(dir, 'v1')).filter((name) => name.endsWith('.table')).length).toBe(2)
    expect(varve('gc', '--full', '--dir', dir).out).toContain('nothing to free')
  })

  it('a directory without a cache is an error with its path, and exit code 3', () => {
    const folder = join(makeFolder(), 'back\\slash') // as in every path of Windows; it was shown doubled
    mkdirSync(folder, { recursive: true })
    const { status, out, err } = varve('stats', '--dir', folder)
    expect([status, out]).toEqual([3, ''])
    expect(err).toContain(`no cache in '${folder}'`)
    const json = varve('stats', '--dir', join(folder, 'missing'), '--json')
    expect([json.status, JSON.parse(json.out).error.code]).toEqual([3, 'NOT_A_CACHE'])
  })

  it('commands find several caches below one directory', async () => {
    const folder = makeFolder()
    await makeCache(join(folder, 'one'))
    await makeCache(join(folder, 'two'))
    expect(JSON.parse(varve('stats', '--dir', folder, '--json').out).caches.length).toBe(2)
    expect(varve('ls', '--dir', folder)).toMatchObject({ status: 2, err: expect.stringContaining('--dir') })
  })

  it('an empty folder, as of a variable that is not set, is taken for the working directory', slow, async () => {
    const dir = await makeCache()
    const before = snapshot(dir)
    const commands = [
      ['gc', '--dir', ''],
      ['stats', '--dir='],
      ['clear', '--namespace', 'text', '--dir', ''],
      ['doctor', '--dir', ''],
    ]
    commands.push(['export', '--dir', dir, '-o', ''], ['files', 'restore', 'key', '', '--dir', dir, '--clean'])
    for (const command of commands) {
      const { status, out, err } = runVarve(command, { cwd: dir })
      expect([status, out, err], command.join(' ')).toEqual([
        2,
        '',
        expect.stringContaining('It is empty; name a file or directory.'),
      ])
    }
    expect(snapshot(dir)).toEqual(before)
    // Empty variables of the environment are not set.
    const env = { VARVE_DIR: '', VARVE_SECRET: '', VARVE_ENGINE: '' }
    expect(runVarve(['stats', '--dir', dir], { env }).status).toBe(0)
  })

  it('a short VARVE_SECRET is reported as a cache that is not there', async () => {
    const dir = await makeCache()
    for (const command of [['stats'], ['gc'], ['repair', '--check']]) {
      const { status, err } = runVarve([...command, '--dir', dir], { env: { VARVE_SECRET: 'short' } })
      expect([status, err]).toEqual([2, expect.stringContaining('VARVE_SECRET has 5 bytes')])
    }
  })

  it.skipIf(!existsSync('/dev/full'))(
    'output that cannot be written exits with 4, and lost messages change no exit code',
    async () => {
      const [dir, missing] = [await makeCache(), join(makeFolder(), 'missing')]
      const full = openSync('/dev/full', 'w')
      const run = (args: readonly string[], stdio: StdioOptions) =>
        spawnSync(process.execPath, [MAIN, ...args], { stdio, encoding: 'utf8' })
      for (const args of [
        ['--version'],
        ['stats', '--dir', dir],
        ['export', '--dir', dir],
        ['ls', '--dir', dir, '--json'],
      ]) {
        const { status, stderr } = run(args, ['ignore', full, 'pipe'])
        expect([status, stderr]).toEqual([
          4,
          expect.stringMatching(/^varve: cannot write to standard output: ENOSPC[^\n]*\n$/),
        ])
      }
      expect(run(['stats', '--dir', missing], ['ignore', 'pipe', full]).status).toBe(3)
      expect(run(['--nothing'], ['ignore', 'pipe', full]).status).toBe(2)
      closeSync(full)
    },
  )

  it('varve --version prints the version', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../packages/varve/package.json', import.meta.url), 'utf8'))
    for (const flag of ['--version', '-V']) expect(varve(flag)).toEqual({ status: 0, out: `${version}\n`, err: '' })
  })

  /** Uses on the day of the write are not recorded: the column had 'never' for entries that a build had just read. */
  it('varve ls --sort does not show an entry of today as never used', async () => {
    const dir = await makeCache()
    const { out } = varve('ls', '--sort', 'size', '--dir', dir, '--namespace', 'text')
    const rows = out.split('\n').filter((line) => line.includes('back'))
    expect(rows).toEqual([expect.stringMatching(/ B +- +\S.* text +back/)])
  })

  it('doctor reports WebAssembly as a possible improvement if nothing is wrong', async () => {
    const dir = await makeCache()
    const env = { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --no-addons` }
    const { status, out } = runVarve(['doctor', '--dir', dir, '--json'], { env })
    const { ok, findings } = JSON.parse(out)
    const engine = {
      what: 'engine',
      found: expect.stringContaining('--no-addons'),
      note: expect.stringContaining('same cache'),
    }
    expect([status, ok, findings.find(({ what }: { what: string }) => what === 'engine')]).toEqual([0, true, engine])
    const text = runVarve(['doctor', '--dir', dir], { env }).out
    expect([text.includes('engine: WebAssembly reads and writes'), text.includes('!')]).toEqual([true, false])
  })

  it('a wrong command line exits with 2, and help lists the exit codes', () => {
    expect(varve('nonsense').status).toBe(2)
    expect(varve('stats', '--nonsense').status).toBe(2)
    expect(varve('repair', '--check', '--help')).toMatchObject({
      status: 0,
      out: expect.stringContaining('Exit codes'),
    })
  })
})

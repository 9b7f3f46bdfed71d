/** S10: for all keys, versions and names, no command prints control characters, and `--json` is valid JSON. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { openCache } from 'varve'
import { beforeAll, describe, expect, it } from 'vitest'
import { MAIN, type Ran, runVarve } from '../command.ts'
import { slow } from '../slow.ts'
import { fileOf, flip } from '../damage-reports/caches.ts'
import { makeFolder } from '../folders.ts'

/** Hostile names, each with a part that commands do not print otherwise. */
const HOSTILE = [
  'esc-\u001b[2J\u001b]0;title\u0007',
  'csi-\u009b31m',
  'osc-\u001b]8;;http://x\u001b\\link',
  'back-\b\b\b',
  'return-\rok',
  'line-\nnext',
  'nul-\0',
  'del-\u007f',
  'turn-\u202e',
  'isolate-\u2066',
  'join-\u200d',
  'mark-\ufeff',
  'separator-\u2028',
  'lone-\ud800',
  'back-\\x1b',
  'quote-"\'`$(id)',
  '__proto__',
  '-\u001b[0m',
  '--json',
]

/** Nothing but printable characters, and the ends of lines. */
const UNSAFE = /[^\P{C}\n]|[\u2028\u2029]/u

const CONTROL = /[^\P{Cc}\n]/u

const varve = (...args: string[]): Ran => runVarve(args)

async function hostileCache(dir: string, count: number = HOSTILE.length): Promise<void> {
  const cache = await openCache({ name: 'hostile', dir })
  for (const name of HOSTILE.slice(0, count)) {
    const space = cache.namespace(`n ${name}`, { version: name, codec: 'text' })
    for (const key of HOSTILE) space.put(key, `${key} `.repeat(40))
  }
  const bytes = cache.namespace('bytes')
  bytes.put(new Uint8Array([0xff, 0x1b, 0x5b, 0x32, 0x4a]), new Uint8Array(3000))
  for (const name of HOSTILE)
    await cache.task(`t ${name}`, { version: name }).run({ id: name, inputs: { [name]: name } }, () => name)
  await cache.commit()
  await cache.compact({ full: true })
  await cache.close()
}

describe('hostile names', () => {
  let [dir, other, damaged] = ['', '', '']
  beforeAll(async () => {
    const root = join(makeFolder(), 'c\u001b[31m\u202e')
    ;[dir, other, damaged] = [join(root, 'a'), join(root, 'b'), join(root, 'd')]
    await hostileCache(dir)
    await hostileCache(other, 3)
    await hostileCache(damaged)
    flip(fileOf(damaged, '.table'), 50)
  })

  const id = HOSTILE[0] ?? ''
  it.each([
    ['stats'],
    ['ls'],
    ['ls', '--long'],
    ['ls', '--task'],
    ['ls', '--sort', 'size'],
    ['repair', '--check'],
    ['doctor'],
    ['repair', '--dry-run'],
    ['get', 'no such key'],
    ['files', 'ls'],
    ['files', 'verify'],
    ['export', '--keys-only'],
    ['export', '--format', 'ndjson', '--keys-only'],
    ['why', 'esc-'],
    ['ls', '--namespace', id],
    ['get', id, '--namespace', id],
    ['clear', '--yes', '--namespace', id],
  ])('varve %s %s %s escapes hostile names', slow, (...args) => {
    for (const folder of [dir, damaged]) {
      const { out, err } = varve(...args, '--dir', folder)
      // An export is data: it escapes what a terminal acts on, and keeps what only changes how a text looks.
      const isData = args[0] === 'export'
      expect([(isData ? CONTROL : UNSAFE).exec(out), UNSAFE.exec(err)]).toEqual([null, null])
      if (isData) continue
      const json = varve(...args, '--dir', folder, '--json')
      expect([UNSAFE.exec(json.out), UNSAFE.exec(json.err), typeof JSON.parse(json.out)]).toEqual([
        null,
        null,
        'object',
      ])
    }
  })

  it('commands on a directory with several caches escape hostile names', () => {
    const several = varve('ls', '--dir', join(dir, '..'))
    expect([several.status, UNSAFE.exec(several.err)]).toEqual([2, null])
  })
})

const HAS_SCRIPT = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0
if (!HAS_SCRIPT) console.warn('SKIPPED: what commands write to a terminal; it takes script of util-linux')

/** `varve get` printed values without escaping them. */
describe.skipIf(!HAS_SCRIPT)('get, to a terminal', () => {
  let dir = ''
  beforeAll(async () => {
    dir = join(makeFolder(), 'cache')
    const cache = await openCache({ name: 'terminal', dir })
    const space = cache.namespace('n')
    space.put('plain', Buffer.from('let ü = 1\n\tif (ü) {}\r\n'))
    space.put('clipboard', Buffer.from('\u001b]52;c;cm0gLXJmIH4=\u0007'))
    space.put('direction', Buffer.from('a\u202eb'))
    space.put('return', Buffer.from('visible\rhidden!'))
    space.put('binary', new Uint8Array([0x9b, 0x32, 0x4a]))
    await cache.commit()
    await cache.close()
  })

  const typed = (args: string): Ran => {
    const line = `'${process.execPath}' '${MAIN}' get ${args} --dir '${dir}'`
    const env = { ...process.env, FORCE_COLOR: undefined, NO_COLOR: '1' } // colours of the command itself are escapes, too
    const { status, stdout } = spawnSync('script', ['-qec', line, '/dev/null'], { encoding: 'latin1', input: '', env })
    return { status, out: stdout, err: '' }
  }

  it.each(['clipboard', 'direction', 'return', 'binary'])(
    'varve get refuses to print control characters to a terminal: %s',
    (key) => {
      const { status, out } = typed(key)
      expect([status, UNSAFE.exec(out.replaceAll('\r', ''))]).toEqual([2, null])
      expect(out).toContain('--raw')
      expect(typed(`${key} --json`).status).toBe(0)
    },
  )

  it('varve get prints plain text to a terminal, and everything with --raw', () => {
    expect(typed('plain')).toMatchObject({ status: 0, out: expect.stringContaining('if (') })
    expect(typed('clipboard --raw').out).toContain('\u001b]52;c;')
    expect(varve('get', 'clipboard', '--dir', dir).out).toBe('\u001b]52;c;cm0gLXJmIH4=\u0007')
  })
})

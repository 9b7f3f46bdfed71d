/**
 * `readOnly: true`, and every reading command, write nothing: the kernel sees no call below the cache directory that creates,
 * changes, removes or locks anything, in a sound directory and in a damaged one.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { MAIN } from '../command.ts'
import { slow, slowOnWasm } from '../slow.ts'
import { fileOf, flip } from '../damage-reports/caches.ts'
import { ENGINES, type EngineName } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { CAN_TRACE, traced } from './trace.ts'

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url))

/** A table, two logs and a file of its own; the program has one entry more in memory. */
async function makeCache(engine: EngineName): Promise<string> {
  const dir = join(makeFolder(), 'cache')
  for (const round of [0, 1, 2]) {
    const cache = await openCache({ name: 'readonly', dir, engine, history: 'never' }) // the damaged files are those of entries
    const space = cache.namespace('n')
    for (let number = round; number < 50; number++) space.put(`key ${number}`, new Uint8Array(500 + round).fill(number))
    if (round === 0) space.put('large', new Uint8Array(1 << 20).fill(7))
    await cache.commit()
    if (round === 0) await cache.compact({ full: true })
    await cache.close()
  }
  return dir
}

describe.skipIf(!CAN_TRACE).each(ENGINES)('readOnly: %s', (engine) => {
  const env = { VARVE_ENGINE: engine }

  it('the trace of a read-only cache detects a write', async () => {
    const dir = await makeCache(engine)
    const { status, writes } = traced(dir, [PROGRAM, dir, engine, 'writing'])
    const found = new Set(writes.map((call) => call.slice(0, call.indexOf('('))))
    expect([status, found.has('openat'), found.has('write') || found.has('writev'), found.has('unlink')]).toEqual([
      0,
      true,
      true,
      true,
    ])
  })

  it('no call of a read-only cache writes, in a sound directory and in damaged ones', slowOnWasm(engine), async () => {
    const sound = await makeCache(engine)
    const damages: ((dir: string) => void)[] = [
      () => undefined,
      (dir) => flip(fileOf(dir, '.table'), 300),
      (dir) => flip(fileOf(dir, '.log'), 100),
      (dir) => flip(fileOf(dir, 'manifest-'), 50),
    ]
    for (const [index, damage] of damages.entries()) {
      const dir = join(makeFolder(), 'copy')
      cpSync(sound, dir, { recursive: true })
      damage(dir)
      const before = snapshot(dir)
      const { status, out, calls, writes } = traced(dir, [PROGRAM, dir, engine, 'readOnly'])
      expect([status, writes]).toEqual([0, []])
      expect([calls > 5, JSON.parse(out).entries >= 50]).toEqual([true, index < 2])
      expect(snapshot(dir)).toEqual(before)
    }
  })

  it.each([false, true])('no reading command writes (damaged: %s)', slow, async (isDamaged) => {
    const dir = await makeCache(engine)
    if (isDamaged) flip(fileOf(dir, '.table'), 300)
    const before = snapshot(dir)
    const looking = [
      ['ls'],
      ['get', 'key 1'],
      ['stats'],
      ['repair', '--check'],
      ['doctor'],
      ['repair', '--dry-run'],
      ['ls', '--sort', 'used'],
      ['export'],
    ]
    for (const [name = '', ...rest] of isDamaged ? looking.slice(3, 6) : looking) {
      const { status, calls, writes } = traced(dir, [MAIN, name, ...rest, '--dir', dir], env)
      expect([name, status === 0 || status === 1, calls > 0, writes]).toEqual([name, true, true, []])
    }
    expect(snapshot(dir)).toEqual(before)
  })
})

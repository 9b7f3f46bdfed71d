/**
 * A trap ends the WebAssembly instance of its thread, and the next cache gets a new one. Three bugs that these tests keep out:
 * - later caches found nothing or values of other keys, because they used the memory of the old instance;
 * - a cache of the old instance threw a plain RuntimeError if its memory had grown before;
 * - the files of the old instance stayed open until the process ended.
 */
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { openCache, type VarveError } from 'varve'
import { afterEach, expect, it, vi } from 'vitest'
import { inMemory } from '../engines.ts'
import { makeFolder } from '../folders.ts'

afterEach(() => vi.restoreAllMocks())

const planted = vi.hoisted(() => ({ isNext: false }))

vi.mock('../../packages/varve/src/engine/host.ts', async (load) => {
  const host = await load<{ nowUs: () => number }>()
  return {
    ...host,
    nowUs: () => {
      if (!planted.isNext) return host.nowUs()
      planted.isNext = false
      throw new RangeError('planted')
    },
  }
})

/** Makes the next commit end with what the engine takes for a trap. */
function trapNext(): void {
  planted.isNext = true
}

/** Files below a folder that this process has open. */
function openIn(folder: string): string[] {
  const paths = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(join('/proc/self/fd', name))
    } catch {
      return '' // the one by which they were listed
    }
  })
  return paths.filter((path) => path.startsWith(folder))
}

it.skipIf(process.platform !== 'linux')(
  'after a trap the files of the old WebAssembly instance are closed',
  async () => {
    const dir = join(makeFolder(), 'cache')
    const open = () => openCache({ name: 'trap', dir, engine: 'wasm', onWarning() {} })
    const [broken, other] = [await open(), await open()]
    for (const cache of [broken, other]) {
      cache.namespace('n').put('large', new Uint8Array(3_000_000))
      await cache.commit()
      expect(cache.namespace('n').get('large')?.length).toBe(3_000_000)
    }
    expect(openIn(dir).length).toBeGreaterThan(1)
    broken.namespace('n').put('key', new Uint8Array(1))
    trapNext()
    await expect(broken.commit()).rejects.toMatchObject({ code: 'INTERNAL' })
    expect(openIn(dir)).toEqual([])
  },
)

for (const engine of ['wasm', 'memory'] as const) {
  it(`goes on in a fresh instance after a trap: ${engine}`, async () => {
    const dir = join(makeFolder(), 'cache')
    const warnings: VarveError[] = []
    const place = engine === 'memory' ? inMemory({ dir }) : { dir, engine }
    const open = () => openCache({ name: 'trap', ...place, onWarning: (warning) => void warnings.push(warning) })
    for (let round = 0; round < 3; round++) {
      const broken = await open()
      const namespace = broken.namespace('n', { codec: 'text' })
      namespace.put('large', 'x'.repeat(3_000_000))
      await broken.commit()
      namespace.put('a', 'lost with the trap')
      trapNext()
      await expect(broken.commit()).rejects.toMatchObject({ code: 'INTERNAL' })
      expect(() => broken.status()).toThrowError(expect.objectContaining({ code: 'INTERNAL' }))
      expect(() => namespace.put('b', 'b')).toThrowError(expect.objectContaining({ code: 'INTERNAL' }))
      expect(namespace.get('a')).toBeUndefined()
      expect(warnings.splice(0)).toMatchObject([{ code: 'INTERNAL' }])

      const fresh = await open()
      const texts = fresh.namespace('n', { codec: 'text' })
      texts.put('a', `a ${round}`)
      texts.put('b', `b ${round}`)
      await fresh.commit()
      expect([texts.get('a'), texts.get('b'), texts.get('c')]).toEqual([`a ${round}`, `b ${round}`, undefined])
      await fresh.close()
    }
    expect(warnings).toEqual([])
  })
}

/**
 * A trap ends the WebAssembly instance of its thread, and the next cache gets a fresh one. Caches opened afterwards found
 * nothing, or values of other keys: keys and values still went through the memory of the instance that was gone. And a
 * cache of that instance threw a bare RuntimeError where the memory had grown before.
 */
import { join } from 'node:path'
import { openCache, type VarveError } from 'varve'
import { afterEach, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'

afterEach(() => vi.restoreAllMocks())

/** Makes the next commit end with what the engine takes for a trap. */
function trapNext(): void {
  vi.spyOn(Date, 'now').mockImplementationOnce(() => {
    throw new RangeError('planted')
  })
}

for (const engine of ['wasm', 'memory'] as const) {
  it(`goes on in a fresh instance after a trap: ${engine}`, async () => {
    const dir = join(makeFolder(), 'cache')
    const warnings: VarveError[] = []
    const open = () => openCache({ name: 'trap', dir, engine, onWarning: (warning) => void warnings.push(warning) })
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

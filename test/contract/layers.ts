/** Layers: sealed by one engine, read by either, hidden entry by entry, never written. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cache } from 'varve'
import { describe, expect, it } from 'vitest'
import { snapshot } from '../folders.ts'
import type { Subject } from './subject.ts'

const LARGE = 'large '.repeat(400_000)

export function layersContract({ newDir, open }: Subject): void {
  const textsOf = (cache: Cache, version = '1') => cache.namespace('n', { version, codec: 'text' })
  const entriesOf = (cache: Cache): object => Object.fromEntries(textsOf(cache).entries())

  /** A layer with three entries, one of them a blob, and the result of a task with a file. */
  async function sealed(): Promise<string> {
    const [cache, layer, tree] = [await open(newDir()), newDir(), newDir()]
    for (const [key, value] of [
      ['a', 'base a'],
      ['b', 'base b'],
      ['c', LARGE],
    ] as const)
      textsOf(cache).put(key, value)
    await cache.task('work', { codec: 'text' }).run({ id: 'one' }, () => 'result')
    mkdirSync(tree)
    writeFileSync(join(tree, 'out.js'), 'output')
    cache.namespace('trees', { codec: 'json' }).put('tree', await cache.files.store(tree))
    await cache.commit()
    expect(await cache.seal(layer)).toMatchObject({ entries: 6, deletes: 0, blobs: 2 })
    await cache.close()
    return layer
  }

  describe('layers', () => {
    it('a cache over a layer reads its values, tasks and files, and neither is written', async () => {
      const layer = await sealed()
      const before = snapshot(layer)
      for (const readOnly of [false, true]) {
        const [dir, target] = [newDir(), newDir()]
        const cache = await open(dir, { readOnly, layers: [layer] })
        expect(entriesOf(cache)).toEqual({ a: 'base a', b: 'base b', c: LARGE })
        expect(textsOf(cache).getMany(['c', 'absent', 'a'])).toEqual([LARGE, undefined, 'base a'])
        const run = cache.task('work', { codec: 'text' }).run({ id: 'one' }, () => 'computed again')
        expect(await run).toBe('result')
        const tree = cache.namespace('trees', { codec: 'json' }).get('tree')
        // A restore remembers the files that it wrote, in the cache.
        if (readOnly) await cache.files.restore(tree as never, target)
        expect(existsSync(target) ? readFileSync(join(target, 'out.js'), 'utf8') : '').toBe(readOnly ? 'output' : '')
        const { layers } = cache.status()
        expect(layers).toMatchObject([{ path: layer, problem: null, entries: 6, deletes: 0 }])
        expect((await cache.stats()).layers).toEqual(layers)
        expect((await cache.verify()).sound).toBe(true)
        cache.refresh()
        expect(textsOf(cache).get('b')).toBe('base b')
        await cache.close()
        expect(snapshot(layer)).toEqual(before)
        expect(() => snapshot(dir)).toThrow('ENOENT')
      }
    })

    it('put, delete and clear hide what a layer has, and compactions without the layer keep it hidden', async () => {
      const [layer, dir] = [await sealed(), newDir()]
      const cache = await open(dir, { layers: [layer] })
      textsOf(cache).put('a', 'own')
      textsOf(cache).delete('b')
      await cache.commit()
      expect(entriesOf(cache)).toEqual({ a: 'own', c: LARGE })
      await cache.compact({ full: true })
      await cache.close()
      const alone = await open(dir)
      await alone.compact({ full: true })
      await alone.close()
      const again = await open(dir, { layers: [layer] })
      expect(entriesOf(again)).toEqual({ a: 'own', c: LARGE })
      await textsOf(again).clear()
      await again.commit()
      await again.compact({ full: true })
      expect(entriesOf(again)).toEqual({})
      await again.close()
      const newer = await open(newDir(), { layers: [layer] })
      expect(textsOf(newer, '2').get('a')).toBeUndefined()
      await newer.close()
    })

    it('a delta has what differs, and reads like the cache over its base', async () => {
      const [base, dir, delta, empty] = [await sealed(), newDir(), newDir(), newDir()]
      const cache = await open(dir, { layers: [base] })
      expect(await cache.seal(empty, { since: base })).toMatchObject({ entries: 0, deletes: 0, bytes: 0 })
      textsOf(cache).put('a', 'changed')
      textsOf(cache).delete('c')
      await cache.commit()
      expect(await cache.seal(delta, { since: [base] })).toMatchObject({ entries: 1, deletes: 1, blobs: 0 })
      await cache.close()
      const over = await open(newDir(), { layers: [delta, base] })
      expect(entriesOf(over)).toEqual({ a: 'changed', b: 'base b' })
      await over.close()
    })

    it('a layer that is missing or damaged is a miss and one warning that names it', async () => {
      const [layer, missing] = [await sealed(), newDir()]
      const manifest = join(layer, readdirSync(layer)[0] ?? '', 'manifest-1')
      writeFileSync(manifest, readFileSync(manifest).fill(0x41, 40, 44))
      const warnings: string[] = []
      const onWarning = ({ code, message }: Error & { code: string }): void => void warnings.push(`${code}: ${message}`)
      const cache = await open(newDir(), { layers: [layer, missing], onWarning })
      expect(entriesOf(cache)).toEqual({})
      textsOf(cache).put('a', 'works')
      await cache.commit()
      const problems = [{ problem: 'manifest of a layer' }, { problem: 'missing layer' }]
      expect(cache.status()).toMatchObject({ layers: problems, damage: [{ layer }, { layer: missing }] })
      await cache.close()
      expect(warnings).toEqual([expect.stringContaining(`DAMAGED: the layer '${layer}'`)])
    })

    it('bad layers and targets are typed errors', async () => {
      const [layer, dir] = [await sealed(), newDir()]
      await expect(open(dir, { layers: [''] })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
      await expect(open(dir, { layers: 'path' as never })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
      const cache = await open(dir)
      await expect(cache.seal(layer)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('manifest-1'),
      })
      await expect(cache.seal(newDir(), { since: dir })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(dir),
      })
      await expect(cache.seal(newDir(), { sinse: dir } as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
      await expect(cache.seal('')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
      await cache.close()
      const opened = await open(layer)
      textsOf(opened).put('a', 'changed')
      await expect(opened.commit()).rejects.toMatchObject({ code: 'READ_ONLY' })
      await opened.close({ commit: false })
    })

    it('a layer with a secret counts only with that secret', async () => {
      const [secret, layer] = ['s'.repeat(32), newDir()]
      const cache = await open(newDir(), { secret })
      textsOf(cache).put('a', 'secret')
      await cache.commit()
      await cache.seal(layer)
      await cache.close()
      for (const [given, found] of [
        [secret, 'secret'],
        ['t'.repeat(32), undefined],
        [undefined, undefined],
      ] as const) {
        const over = await open(newDir(), { secret: given, layers: [layer], onWarning: () => undefined })
        expect(textsOf(over).get('a')).toBe(found)
        await over.close()
      }
    })
  })
}

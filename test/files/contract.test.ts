/** What `cache.files` promises about folders, on both engines; `restore.test.ts` covers restoring. */
import { chmodSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { VarveError } from 'varve'
import type { FileManifest } from 'varve/files'
import { describe, expect, test } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { EVERYTHING, open, read, storedFiles, write } from './trees.ts'

describe.each(ENGINES)('files: %s', (engine) => {
  test('a stored folder is restored unchanged, in every mode', async () => {
    const cache = await open(engine)
    const manifest = await cache.files.store(write(EVERYTHING))
    expect(manifest).toMatchObject({ kind: 'varve-files', version: 1 })
    expect(manifest.files[0]).toEqual({ path: 'a.js', size: 5, digest: expect.stringMatching(/^[0-9a-f]{64}$/) })
    for (const mode of ['auto', 'copy', 'hardlink'] as const) {
      const target = join(makeFolder(), 'new/target')
      const report = await cache.files.restore(manifest, target, { mode })
      expect(report).toMatchObject({ entries: 6, unchanged: 0, removed: 0 })
      expect(read(target)).toEqual(EVERYTHING)
      expect(await cache.files.store(target)).toEqual(manifest)
    }
    await cache.close()
  })

  test('a manifest can be stored with every codec, and keeps its files through a full compaction', async () => {
    const dir = join(makeFolder(), 'cache')
    let cache = await open(engine, dir)
    const json = cache.namespace<FileManifest>('json', { codec: 'json' })
    const v8 = cache.namespace<{ out: FileManifest }>('v8', { codec: 'v8' })
    const text = cache.namespace('text', { codec: 'text' })
    const manifests = []
    for (const content of ['of json', 'of v8', 'of text'])
      manifests.push(await cache.files.store(write({ 'a.txt': content })))
    const [first, second, third] = manifests as [FileManifest, FileManifest, FileManifest]
    json.put('k', first)
    v8.put('k', { out: second }, { files: second })
    text.put('k', JSON.stringify(third), { files: [third] })
    await cache.commit()
    await cache.compact({ full: true })
    await cache.close()
    cache = await open(engine, dir)
    await cache.compact({ full: true })
    expect(await cache.files.list()).toHaveLength(3)
    const found = [
      cache.namespace<FileManifest>('json', { codec: 'json' }).get('k'),
      cache.namespace<{ out: FileManifest }>('v8', { codec: 'v8' }).get('k')?.out,
      JSON.parse(cache.namespace('text', { codec: 'text' }).get('k') ?? '') as FileManifest,
    ]
    expect(found).toEqual(manifests)
    for (const manifest of found) expect((await cache.files.verify(manifest)).sound).toBe(true)
    await cache.close()
  })

  test('a compaction removes files that no entry names, but not before the next commit', async () => {
    const cache = await open(engine)
    const namespace = cache.namespace<unknown>('n', { codec: 'json' })
    const manifest = await cache.files.store(write({ 'a.txt': 'no entry names this' }))
    await cache.compact({ full: true })
    expect((await cache.files.verify(manifest)).sound).toBe(true)
    namespace.put('hidden', { deeper: manifest })
    await cache.commit()
    await cache.compact({ full: true })
    expect(await cache.files.verify(manifest)).toEqual({ sound: false, files: 1, bytes: 19, lost: ['a.txt'] })
    await expect(cache.files.restore(manifest, makeFolder())).rejects.toMatchObject({ code: 'FILES_DAMAGED' })
    await cache.close()
  })

  test('after its entry is deleted, a compaction removes its files', async () => {
    const cache = await open(engine)
    const namespace = cache.namespace<FileManifest>('n', { codec: 'json' })
    namespace.put('k', await cache.files.store(write({ 'a.txt': 'short life' })))
    await cache.commit()
    namespace.delete('k')
    await cache.commit()
    await cache.compact({ full: true })
    expect(await cache.files.list()).toEqual([])
    await cache.close()
  })

  test('the cache keeps only the executable bit, and its files are not open to other users', async () => {
    const dir = join(makeFolder(), 'cache')
    const source = write({ 'a.txt': 'a', suid: { executable: 's' }, sticky: 't' })
    chmodSync(join(source, 'suid'), 0o4777)
    chmodSync(join(source, 'sticky'), 0o2666)
    const umask = process.umask(0)
    try {
      const cache = await open(engine, dir)
      const target = join(makeFolder(), 'target')
      const manifest = await cache.files.store(source)
      await cache.files.restore(manifest, target)
      const modes = ['a.txt', 'suid', 'sticky'].map((name) => statSync(join(target, name)).mode & 0o7777)
      expect(modes).toEqual([0o644, 0o755, 0o644])
      for (const file of storedFiles(dir)) {
        expect(statSync(file).mode & 0o7777).toBe(0o600)
        expect(statSync(dirname(file)).mode & 0o7777).toBe(0o700)
      }
      await cache.close()
    } finally {
      process.umask(umask)
    }
  })

  test('damage of a stored file is a typed error that names the file', async () => {
    const dir = join(makeFolder(), 'cache')
    const cache = await open(engine, dir)
    const manifest = await cache.files.store(write({ 'b/a.txt': 'will be flipped' }))
    for (const hurt of [
      (path: string) => writeFileSync(path, 'will be FLIPPED'),
      (path: string) => truncateSync(path, 3),
    ]) {
      await cache.files.store(write({ 'b/a.txt': 'will be flipped' }))
      const stored = storedFiles(dir).find((path) => !path.endsWith('.bad')) ?? ''
      hurt(stored)
      for (const mode of ['auto', 'copy', 'hardlink'] as const) {
        const target = makeFolder()
        await expect(cache.files.restore(manifest, target, { mode })).rejects.toMatchObject({
          code: 'FILES_DAMAGED',
          message: expect.stringContaining('b/a.txt'),
        })
        expect(Object.keys(read(target))).toEqual(['b'])
      }
    }
    await cache.close()
  })

  test('a read-only cache restores and stores nothing', async () => {
    const dir = join(makeFolder(), 'cache')
    const cache = await open(engine, dir)
    const namespace = cache.namespace<FileManifest>('n', { codec: 'json' })
    namespace.put('k', await cache.files.store(write(EVERYTHING)))
    await cache.commit()
    await cache.close()
    const before = snapshot(dir)
    const reader = await open(engine, dir, { readOnly: true })
    const manifest = reader.namespace<FileManifest>('n', { codec: 'json' }).get('k')
    const target = makeFolder()
    for (const mode of ['auto', 'hardlink'] as const)
      await reader.files.restore(manifest as FileManifest, target, { mode })
    expect(read(target)).toEqual(EVERYTHING)
    await expect(reader.files.store(target)).rejects.toMatchObject({ code: 'READ_ONLY' })
    await reader.close()
    expect(snapshot(dir)).toEqual(before)
  })

  test('an aborted restore leaves complete files only, and the next restore adds the others', async () => {
    const tree = Object.fromEntries(
      Array.from({ length: 400 }, (_, index) => [`d${index % 7}/${index}.txt`, `${index} `.repeat(2000)]),
    )
    const cache = await open(engine)
    const manifest = await cache.files.store(write(tree))
    const target = makeFolder()
    const stop = new AbortController()
    const onProgress = (done: number): void => void (done > 0 && stop.abort())
    const restore = cache.files.restore(manifest, target, { signal: stop.signal, onProgress })
    // It may have been done before the first look at the signal.
    const outcome = await restore.then(
      () => 'done',
      (error: unknown) => (error instanceof VarveError ? error.code : error),
    )
    expect(['done', 'CANCELLED']).toContain(outcome)
    for (const [path, text] of Object.entries(read(target))) expect(tree[path] ?? { folder: true }).toEqual(text)
    await expect(cache.files.restore(manifest, target, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'CANCELLED',
    })
    await cache.files.restore(manifest, target)
    expect(read(target)).toEqual(tree)
    await cache.close()
  })

  test('onProgress counts files, and an error that it throws stops the call', async () => {
    const cache = await open(engine)
    const manifest = await cache.files.store(write(EVERYTHING))
    const seen: [number, number][] = []
    await cache.files.restore(manifest, makeFolder(), { onProgress: (done, total) => void seen.push([done, total]) })
    expect(seen.length).toBeGreaterThan(0)
    for (const [done, total] of seen) expect(done).toBeLessThanOrEqual(Math.max(total, 0))
    const thrown = new Error('stop')
    const restore = cache.files.restore(manifest, makeFolder(), {
      onProgress: () => {
        throw thrown
      },
    })
    await expect(restore).rejects.toBe(thrown)
    await cache.close()
  })

  test('paths of a list are relative to its base; links, devices and paths outside are refused by name', async () => {
    const cache = await open(engine)
    const base = write({
      'src/a.js': 'a',
      'out/b.js': 'b',
      'out/c/d.js': 'd',
      'loose.txt': 'l',
      link: { link: 'loose.txt' },
    })
    const paths = async (what: string | string[], options?: object): Promise<string[]> => {
      return (await cache.files.store(what, options)).files.map((file) => file.path)
    }
    expect(await paths(['out', join(base, 'src/a.js')], { base })).toEqual(['out/b.js', 'out/c/d.js', 'src/a.js'])
    expect(await paths(join(base, 'out'))).toEqual(['b.js', 'c/d.js'])
    expect(await paths(join(base, 'out'), { base })).toEqual(['out/b.js', 'out/c/d.js'])
    expect(await paths(join(base, 'loose.txt'))).toEqual(['loose.txt'])
    await expect(paths(['../x'], { base })).rejects.toMatchObject({
      code: 'UNSAFE_PATH',
      message: expect.stringContaining('../x'),
    })
    await expect(paths(base)).rejects.toMatchObject({ code: 'UNSAFE_PATH', message: expect.stringContaining('"link"') })
    await expect(paths(['link/b.js'], { base })).rejects.toMatchObject({ code: 'IO' })
    await expect(paths(['missing'], { base })).rejects.toMatchObject({ code: 'IO' })
    await cache.close()
  })

  test('an option keeps links that stay inside, and other links are refused', async () => {
    const cache = await open(engine)
    const tree = { 'a/b.txt': 'b', 'c/link': { link: '../a/b.txt' } } as const
    const manifest = await cache.files.store(write(tree), { links: 'inside' })
    const target = write({ 'c/link': 'a file was here' })
    await cache.files.restore(manifest, target)
    expect(read(target)).toEqual(tree)
    expect(await cache.files.restore(manifest, target)).toMatchObject({ unchanged: 2 })
    for (const link of ['/etc/passwd', '../../x', '..']) {
      await expect(cache.files.store(write({ l: { link } }), { links: 'inside' })).rejects.toMatchObject({
        code: 'UNSAFE_PATH',
      })
    }
    await cache.close()
  })

  test('cache.files refuses wrong arguments', async () => {
    const cache = await open(engine)
    const manifest = await cache.files.store(write({ a: 'a' }))
    const target = makeFolder()
    const future: FileManifest = JSON.parse(JSON.stringify({ ...manifest, version: 2 }))
    await expect(cache.files.restore(future, target)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(cache.files.restore(manifest, '')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    const misspelt = cache.files.restore(manifest, target, JSON.parse('{"cleen":true}'))
    await expect(misspelt).rejects.toThrow("'clean'")
    const broken: FileManifest = { ...manifest, files: [{ path: 'a', size: 1, digest: 'no digest' }] }
    await expect(cache.files.restore(broken, target)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(readdirSync(target)).toEqual([])
    await cache.close()
    await expect(cache.files.list()).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

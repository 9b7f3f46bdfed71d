/** What a restore does with existing files in the target, on both engines. */
import { execFileSync } from 'node:child_process'
import { chmodSync, linkSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FileManifest } from 'varve/files'
import { describe, expect, test } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'
import { open, read, write } from './trees.ts'

const MODES = ['auto', 'copy', 'hardlink'] as const
const PEAK = fileURLToPath(new URL('peak.mjs', import.meta.url))

/** Where the content of the first file of a manifest lies. */
function placeOf(dir: string, { files: [file] }: FileManifest): string {
  if (file === undefined || !('digest' in file)) throw new Error('the first entry is not a file')
  return join(dir, 'v1/files', file.digest.slice(0, 2), file.digest)
}

describe.each(ENGINES)('restoring files: %s', (engine) => {
  /** Size, modification time and inode were compared; the time of the last change was not. */
  test.skipIf(process.platform === 'win32')(
    'a file that was rewritten with the same size and time is restored',
    slow,
    async () => {
      const cache = await open(engine)
      const target = makeFolder()
      const file = join(target, 'main.js')
      const manifest = await cache.files.store(write({ 'main.js': 'good()' }))
      await cache.files.restore(manifest, target)
      await sleep(2100) // what changed in the last two seconds is read anyway
      await cache.files.restore(manifest, target)
      expect(await cache.files.restore(manifest, target)).toMatchObject({ unchanged: 1 })
      const reference = join(makeFolder(), 'reference')
      execFileSync('touch', ['-r', file, reference]) // Node sets times in microseconds
      writeFileSync(file, 'evil()')
      execFileSync('touch', ['-r', reference, file])
      expect(await cache.files.restore(manifest, target)).toMatchObject({ unchanged: 0 })
      expect(readFileSync(file, 'utf8')).toBe('good()')
      await cache.close()
    },
  )

  /** Two engines waited forever for the other end of the FIFO. */
  test.skipIf(process.platform === 'win32').each(MODES)(
    'a FIFO in place of a stored file is a missing file: %s',
    async (mode) => {
      const dir = join(makeFolder(), 'cache')
      const cache = await open(engine, dir)
      const manifest = await cache.files.store(write({ 'a.txt': 'hello' }))
      rmSync(placeOf(dir, manifest))
      execFileSync('mkfifo', [placeOf(dir, manifest)])
      await expect(cache.files.restore(manifest, makeFolder(), { mode })).rejects.toMatchObject({
        code: 'FILES_DAMAGED',
      })
      await cache.close()
    },
  )

  /** All of it was read before its length was compared. */
  test.skipIf(process.platform === 'win32').each(MODES)(
    'a stored file replaced by 4 GiB of zeros needs no memory: %s',
    (mode) => {
      const args = [PEAK, join(makeFolder(), 'cache'), write({ 'a.txt': 'hello' }), makeFolder(), engine, mode]
      const { code, peakMiB } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
      expect(code).toBe('FILES_DAMAGED')
      expect(peakMiB).toBeLessThan(256)
    },
  )

  /** The stored file was quarantined, and every other manifest that names it lost it. */
  test('a manifest with a wrong size does not remove the stored file', async () => {
    const cache = await open(engine)
    const manifest = await cache.files.store(write({ 'a.txt': 'hello' }))
    for (const size of [0, 4, 7, 2 ** 40]) {
      const wrong = { ...manifest, files: manifest.files.map((file) => ({ ...file, size })) }
      await expect(cache.files.restore(wrong, makeFolder())).rejects.toMatchObject({ code: 'FILES_DAMAGED' })
    }
    const target = makeFolder()
    await cache.files.restore(manifest, target)
    expect([read(target), cache.status().damage]).toEqual([{ 'a.txt': 'hello' }, []])
    await cache.close()
  })

  test('a restore does not touch unchanged files, found by record or by digest', async () => {
    const dir = join(makeFolder(), 'cache')
    const [source, target] = [write({ 'a.txt': 'same', 'b/c.txt': 'other' }), makeFolder()]
    const old = new Date(Date.now() - 3_600_000)
    const cache = await open(engine, dir)
    const manifest = await cache.files.store(source)
    await cache.files.restore(manifest, target)
    utimesSync(join(target, 'a.txt'), old, old)
    const before = statSync(join(target, 'a.txt'), { bigint: true })
    for (let round = 0; round < 3; round++) {
      expect(await cache.files.restore(manifest, target)).toMatchObject({ unchanged: 2, copied: 0, cloned: 0 })
    }
    const after = statSync(join(target, 'a.txt'), { bigint: true })
    expect([after.ino, after.mtimeNs, after.ctimeNs]).toEqual([before.ino, before.mtimeNs, before.ctimeNs])
    await cache.close()
    const again = await open(engine === 'native' ? 'wasm' : 'native', dir)
    expect(await again.files.restore(manifest, target)).toMatchObject({ unchanged: 2 })
    await again.close()
  })

  test('a restore detects a change, also one of the same size at the same time', async () => {
    const cache = await open(engine)
    const target = makeFolder()
    const manifest = await cache.files.store(
      write({ 'a.txt': 'right', 'x.sh': { executable: 'run' }, 'same.txt': 'same' }),
    )
    await cache.files.restore(manifest, target)
    await cache.files.restore(manifest, target)
    const { atime, mtime } = statSync(join(target, 'a.txt'))
    writeFileSync(join(target, 'a.txt'), 'wrong')
    utimesSync(join(target, 'a.txt'), atime, mtime)
    chmodSync(join(target, 'x.sh'), 0o644)
    expect(await cache.files.restore(manifest, target)).toMatchObject({ unchanged: 1 })
    expect(read(target)).toEqual({ 'a.txt': 'right', 'x.sh': { executable: 'run' }, 'same.txt': 'same' })
    await cache.close()
  })

  test('clean removes files that the manifest does not name, and never the targets of links', async () => {
    const cache = await open(engine)
    const outside = write({ 'precious.txt': 'keep me' })
    const manifest = await cache.files.store(write({ 'a.txt': 'a', 'b/c.txt': 'c' }))
    const target = write({
      'a.txt': 'old',
      'stale/x/y.txt': 'y',
      'b/old.txt': 'old',
      link: { link: outside },
      'a.txt.d/z': 'z',
    })
    symlinkSync(join(outside, 'precious.txt'), join(target, 'b/c.txt'))
    const report = await cache.files.restore(manifest, target, { clean: true })
    expect(report.removed).toBe(7) // the link in place of a file is replaced
    expect(read(target)).toEqual({ 'a.txt': 'a', 'b/c.txt': 'c' })
    expect(read(outside)).toEqual({ 'precious.txt': 'keep me' })
    await cache.close()
  })

  test('an obstacle in the target is an error that names it, and clean removes it', async () => {
    const cache = await open(engine)
    const manifest = await cache.files.store(write({ 'a/b.txt': 'b' }))
    for (const obstacle of [{ a: 'a file' }, { 'a/b.txt/c': 'a folder' }, { a: { link: makeFolder() } }]) {
      const target = write(obstacle)
      await expect(cache.files.restore(manifest, target)).rejects.toMatchObject({
        code: 'UNSAFE_PATH',
        message: expect.stringContaining('a/b.txt'),
      })
      await cache.files.restore(manifest, target, { clean: true })
      expect(read(target)).toEqual({ 'a/b.txt': 'b' })
    }
    await cache.close()
  })

  test('a hard link is read-only and never written into; a shared inode is replaced', async () => {
    const dir = join(makeFolder(), 'cache')
    const cache = await open(engine, dir)
    const manifest = await cache.files.store(write({ 'a.txt': 'shared', 'x.sh': { executable: 'run' } }))
    const target = makeFolder()
    expect(await cache.files.restore(manifest, target, { mode: 'hardlink' })).toMatchObject({ linked: 2 })
    expect(statSync(join(target, 'a.txt')).mode & 0o7777).toBe(0o444)
    expect(statSync(join(target, 'x.sh')).mode & 0o7777).toBe(0o555)
    expect(statSync(join(target, 'a.txt')).nlink).toBe(2)
    expect(await cache.files.restore(manifest, target, { mode: 'hardlink' })).toMatchObject({ unchanged: 2 })
    await cache.files.restore(manifest, target, { mode: 'copy' })
    expect(statSync(join(target, 'a.txt')).nlink).toBe(1)
    writeFileSync(join(target, 'a.txt'), 'mine now')
    const other = join(makeFolder(), 'other.txt')
    writeFileSync(other, 'foreign')
    const shared = makeFolder()
    linkSync(other, join(shared, 'a.txt'))
    await cache.files.restore(manifest, shared)
    expect(readFileSync(other, 'utf8')).toBe('foreign')
    expect((await cache.files.verify()).sound).toBe(true)
    await cache.close()
  })
})

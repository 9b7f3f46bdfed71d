/** `restore({ clean: true })`: it deleted before it knew that it could restore, also in the project and in the cache itself. */
import { spawnSync } from 'node:child_process'
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, parse } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { open, read, storedFiles, write } from './trees.ts'

const home = process.cwd()
afterEach(() => process.chdir(home))

/** The number of a process that has ended. */
function deadProcess(): number {
  const { pid } = spawnSync(process.execPath, ['--version'])
  return pid
}

describe.each(ENGINES)('restoring into a clean target: %s', (engine) => {
  test('a target with the working directory, the cache, a repository or the home directory is refused', async () => {
    const project = makeFolder()
    const dir = join(project, 'node_modules/.cache/varve')
    const cache = await open(engine, dir)
    const manifest = await cache.files.store(write({ 'main.js': 'build()' }))
    await cache.flush()
    const source = write({ 'src/a.js': 'a', 'sub/deep/b.js': 'b' }, project)
    mkdirSync(join(project, 'sub/.git'))
    process.chdir(join(project, 'src'))
    const link = join(makeFolder(), 'link')
    symlinkSync(project, link, 'junction')
    const before = snapshot(project)
    const targets = [source, join(project, 'src'), join(project, 'sub'), dirname(dir), dir, join(dir, 'v1'), link, '.']
    for (const target of [...targets, '..', homedir(), dirname(homedir()), parse(homedir()).root]) {
      const restored = cache.files.restore(manifest, target, { clean: true })
      await expect(restored, target).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
    expect(snapshot(project)).toEqual(before)
    await cache.files.restore(manifest, join(project, 'dist'), { clean: true })
    expect(read(join(project, 'dist'))).toEqual({ 'main.js': 'build()' })
    await cache.close()
  })

  test('a clean restore of a manifest with a missing content removes and writes nothing', async () => {
    const dir = join(makeFolder(), 'cache')
    const cache = await open(engine, dir)
    const manifest = await cache.files.store(write({ 'a.js': 'a', 'b.js': 'b', folder: 'a file' }))
    await cache.flush()
    rmSync(storedFiles(dir)[0] ?? '')
    const target = write({ 'a.js': 'old', 'kept.js': 'kept', 'folder/in/it': 'kept' })
    const before = read(target)
    const restored = cache.files.restore(manifest, target, { clean: true })
    await expect(restored).rejects.toMatchObject({ code: 'FILES_DAMAGED' })
    expect(read(target)).toEqual(before)
    await cache.close()
  })

  test('a clean restore that fails half way removes only what is in the way', async () => {
    const cache = await open(engine)
    const manifest = await cache.files.store(write({ 'a/b.js': 'b', c: 'a file' }))
    const target = write({ 'kept.js': 'kept', 'c/in/it': 'in the way' })
    const controller = new AbortController()
    const onProgress = (): void => controller.abort()
    const restored = cache.files.restore(manifest, target, { clean: true, signal: controller.signal, onProgress })
    await expect(restored).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(read(target)).toMatchObject({ 'kept.js': 'kept' })
    await cache.files.restore(manifest, target, { clean: true })
    expect(read(target)).toEqual({ 'a/b.js': 'b', c: 'a file' })
    await cache.close()
  })

  test('temporary files of a restore that was killed are removed by the next one, those of a running one are not', async () => {
    const cache = await open(engine)
    const manifest = await cache.files.store(write({ 'deep/er/a.js': 'a', 'b.js': 'b' }))
    const dead = `.varve-${deadProcess()}-0.tmp`
    const running = `.varve-${process.ppid}-0.tmp`
    const target = write({
      [dead]: 'half',
      [`deep/er/${dead}`]: 'half',
      [`deep/${running}`]: 'half',
      'deep/x.tmp': 'x',
    })
    await cache.files.restore(manifest, target)
    const kept = { [`deep/${running}`]: 'half', 'deep/x.tmp': 'x' }
    expect(read(target)).toEqual({ 'deep/er/a.js': 'a', 'b.js': 'b', ...kept })
    write({ [dead]: 'half' }, target)
    await cache.files.restore(manifest, target, { clean: true })
    expect(read(target)).toEqual({ 'deep/er/a.js': 'a', 'b.js': 'b', [`deep/${running}`]: 'half' })
    await cache.close()
  })

  test('a file above 2 GiB is refused before it is read, with its path and the limit', async () => {
    const cache = await open(engine)
    const root = makeFolder()
    writeFileSync(join(root, 'small'), 'small')
    const file = openSync(join(root, 'large.bin'), 'w')
    ftruncateSync(file, 2 ** 31)
    closeSync(file)
    await expect(cache.files.store(root)).rejects.toMatchObject({
      code: 'VALUE_TOO_LONG',
      message: "'large.bin' has 2147483648 bytes, the limit of a stored file is 2147483647; leave it out or split it",
    })
    await cache.close()
  })
})

/** `restore({ clean: true })`: it deleted before it knew that it could restore, also in the project and in the cache itself. */
import { spawnSync } from 'node:child_process'
import fs, {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  rmSync,
  type StatSyncOptions,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, parse } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type * as clean from '../../packages/varve/src/files/walk.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { open, read, storedFiles, write } from './trees.ts'

const { withoutAliases }: typeof clean = await import(
  new URL('../../packages/varve/src/files/walk.ts', import.meta.url).href
)

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

  test('a target in a repository, or with one or a cache of another tool in it, lost them', async () => {
    const cache = await open(engine)
    const manifest = await cache.files.store(write({ 'main.js': 'build()' }))
    const folder = makeFolder()
    const other = await open(engine, join(folder, 'with-cache/deep/cache'))
    other.namespace('n').put('key', new Uint8Array(1))
    await other.close()
    write({ 'with-repository/deep/.git/HEAD': 'ref', 'with-repository/deep/src.js': 'mine' }, folder)
    write({ 'with-worktree/deep/.git': 'gitdir: ..', 'with-worktree/deep/src.js': 'mine' }, folder)
    write({ 'checkout/.git/HEAD': 'ref', 'checkout/.git/hooks/mine': 'mine' }, folder)
    write({ 'bare/HEAD': 'ref', 'bare/objects/a': 'a', 'bare/refs/b': 'b' }, folder)
    const before = snapshot(folder)
    const targets = ['with-cache', 'with-repository', 'with-worktree', 'checkout/.git', 'checkout/.git/hooks', 'bare']
    for (const target of targets) {
      const restored = cache.files.restore(manifest, join(folder, target), { clean: true })
      await expect(restored, target).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
    expect(snapshot(folder)).toEqual(before)
    await cache.close()
  })

  test('a clean restore was IO in a program that records reads, whose realpathSync had no native', async () => {
    const cache = await open(engine)
    const folder = makeFolder()
    const task = cache.task('recorded', { root: folder, trackReads: true })
    await task.run({ id: 'a' }, () => 'result')
    const manifest = await cache.files.store(write({ 'main.js': 'build()' }))
    const target = write({ 'old.js': 'old' })
    await cache.files.restore(manifest, target, { clean: true })
    expect(read(target)).toEqual({ 'main.js': 'build()' })
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

/** macOS and Windows find a file under its name in any case, so a directory lists the one that was restored in the case of an older one. */
test('a restored file was removed under its name in another case', () => {
  const folder = write({ 'sub/main.js': 'build()', 'sub/other.js': 'another' }, makeFolder().toLowerCase())
  const ignoringCase = new Proxy(fs, {
    get: (files, name) =>
      name === 'lstatSync'
        ? (path: string, options: StatSyncOptions) => files.lstatSync(path.toLowerCase(), options)
        : Reflect.get(files, name),
  })
  const entries = [{ path: 'Sub/Main.js', size: 7, digest: '' }]
  const surplus = ['sub/OTHER.js', 'sub/main.js', 'SUB']
  expect(withoutAliases(ignoringCase, folder, surplus, entries)).toEqual(['sub/OTHER.js'])
  expect(withoutAliases(fs, folder, surplus, entries)).toEqual(surplus)
})

/**
 * Manifests of an attacker, and traps in the target: a restore never writes, removes or changes anything outside of the
 * target, and its error names what it refuses.
 */
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Cache } from 'varve'
import type { FileItem, FileManifest } from 'varve/files'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { open, write } from './trees.ts'

/** Names that lead elsewhere, or mean something else on some system. */
const NAMES: readonly string[] = [
  '',
  '.',
  '..',
  '../x',
  '../../x',
  'a/../x',
  'a/../../x',
  'a/..',
  './x',
  'a/./x',
  'a//x',
  'a/',
  '/x',
  '//x',
  '//host/share/x',
  '/etc/passwd',
  '/tmp/x',
  '/proc/self/cwd/x',
  '\\x',
  'a\\x',
  '..\\x',
  'a\\..\\..\\x',
  '\\\\host\\share\\x',
  '\\\\?\\C:\\x',
  'C:',
  'C:x',
  'C:/x',
  'c:\\x',
  'a:b',
  'x::$DATA',
  'x\0',
  '\0',
  'a\0/../x',
  'x\n',
  'x\r',
  'x\t',
  'x\x1b[2J',
  'x\x7f',
  'x\u0085',
  'con',
  'CON',
  'aux.js',
  'nul',
  'NUL.txt',
  'prn',
  'com1',
  'COM9.txt',
  'lpt1',
  'com¹',
  'CONIN$',
  'a/con/x',
  'conout$',
  'x.',
  'x ',
  'a./x',
  'a /x',
  '...',
  '. .',
  'x'.repeat(241),
  `a/${'é'.repeat(121)}`,
  `${'a/'.repeat(130)}x`,
  'b/'.repeat(600) + 'x',
]

/** What an attacker may have planted in the target under a name on the way. */
const TRAPS = [
  'nothing',
  'a link to a folder outside',
  'a link to a file outside',
  'a link to nowhere outside',
] as const

describe.each(ENGINES)('hostile: %s', (engine) => {
  let cache: Cache
  let item: FileItem
  beforeAll(async () => {
    cache = await open(engine)
    const manifest = await cache.files.store(write({ f: 'payload' }))
    item = manifest.files[0] as FileItem
  })
  afterAll(() => cache.close())

  /** A target with traps under every name that the paths of `NAMES` begin with, beside a folder that must not change. */
  function trapped(trap: (typeof TRAPS)[number]): { target: string; outside: string; all: string } {
    const all = makeFolder()
    const [outside, target] = [join(all, 'outside'), join(all, 'target')]
    write({ 'victim.txt': 'untouched', 'dir/victim.txt': 'untouched' }, outside)
    mkdirSync(target)
    const to = {
      nothing: undefined,
      'a link to a folder outside': 'dir',
      'a link to a file outside': 'victim.txt',
      'a link to nowhere outside': 'new',
    }[trap]
    if (to !== undefined)
      for (const name of ['a', 'b', 'x', 'x.', 'a.', 'con']) symlinkSync(join(outside, to), join(target, name))
    return { target, outside, all }
  }

  test.each(TRAPS)('a restore refuses hostile names, with %s in the target', async (trap) => {
    const { target, all } = trapped(trap)
    const before = snapshot(all)
    for (const path of NAMES) {
      const manifest: FileManifest = { kind: 'varve-files', version: 1, files: [{ ...item, path }] }
      for (const mode of ['auto', 'hardlink'] as const) {
        await expect(cache.files.restore(manifest, target, { mode }), JSON.stringify(path)).rejects.toMatchObject({
          code: 'UNSAFE_PATH',
        })
      }
      const folder: FileManifest = { ...manifest, files: [{ path, folder: true }] }
      await expect(cache.files.restore(folder, target), JSON.stringify(path)).rejects.toMatchObject({
        code: 'UNSAFE_PATH',
      })
      await expect(
        cache.files.exportTar(manifest, join(all, 'archive.tar')),
        JSON.stringify(path),
      ).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
    }
    expect(snapshot(all)).toEqual(before)
  })

  test.each(TRAPS)('a restore changes nothing outside of the target, with %s on the way', async (trap) => {
    for (const path of ['x', 'a/x', 'a/b/x', 'b/x', 'a', 'x/a/b/c']) {
      for (const options of [{}, { clean: true }, { mode: 'hardlink' }, { mode: 'copy', clean: true }] as const) {
        const { target, outside } = trapped(trap)
        const before = snapshot(outside)
        const manifest: FileManifest = { kind: 'varve-files', version: 1, files: [{ ...item, path }] }
        const restore = cache.files.restore(manifest, target, options)
        const outcome = await restore.then(
          () => 'restored',
          (error: unknown) => error,
        )
        expect(snapshot(outside), `${path} with ${JSON.stringify(options)}`).toEqual(before)
        // Only a folder on the way that is a link is a reason to refuse, and clean removes it.
        const isOnTheWay = path.includes('/') && trap !== 'nothing' && !('clean' in options)
        const refusal = expect.objectContaining({ code: 'UNSAFE_PATH', message: expect.stringContaining(path) })
        expect(outcome).toEqual(isOnTheWay ? refusal : 'restored')
        const found = await cache.files.store(join(target, path)).catch(() => undefined)
        expect(found?.files).toEqual(isOnTheWay ? undefined : [{ ...item, path: basename(path) }])
      }
    }
  })

  test('a restore refuses links of a manifest that lead out of the target', async () => {
    const { target, all } = trapped('nothing')
    const before = snapshot(all)
    const links = [
      '..',
      '../x',
      '/etc/passwd',
      'a/../../x',
      '../../outside/victim.txt',
      './../../x',
      'C:/x',
      '\\x',
      '//x',
      '',
      '.',
      'x\0',
      'a/..',
    ]
    for (const link of links) {
      const manifest: FileManifest = { kind: 'varve-files', version: 1, files: [{ path: 'l', link }] }
      await expect(cache.files.restore(manifest, target), JSON.stringify(link)).rejects.toMatchObject({
        code: 'UNSAFE_PATH',
      })
    }
    expect(snapshot(all)).toEqual(before)
  })

  test('a restore does not write through a link of its own manifest', async () => {
    const { target, outside } = trapped('nothing')
    const files = [
      { path: 'd', link: 'e' },
      { ...item, path: 'd/x' },
    ]
    await expect(cache.files.restore({ kind: 'varve-files', version: 1, files }, target)).rejects.toMatchObject({
      code: 'UNSAFE_PATH',
    })
    expect(Object.keys(snapshot(outside))).toHaveLength(2)
  })

  test('a manifest with entries of another shape is INVALID_ARGUMENT for every call, and nothing is removed', async () => {
    const target = write({ kept: 'kept' })
    const outputs = cache.namespace<FileManifest>('outputs', { codec: 'json' })
    const { digest } = item
    const shapes: unknown[] = [
      null,
      5,
      'a',
      {},
      { path: 5, folder: true },
      { path: 'a' },
      { path: 'a', folder: 'yes' },
      { path: 'a', link: 5 },
      { path: 'a', digest },
      ...[-1, 1.5, 2 ** 53, '1', null].map((size) => ({ path: 'a', size, digest })),
      { path: 'a', size: 1, digest: 5 },
    ]
    for (const shape of shapes) {
      const manifest = { kind: 'varve-files', version: 1, files: [item, shape as FileItem] } as const
      for (const call of [
        () => cache.files.restore(manifest, target, { clean: true }),
        () => cache.files.restore(manifest, target),
        () => cache.files.verify(manifest),
        () => cache.files.exportTar(manifest, join(target, 'archive.tar')),
        async () => outputs.put('key', manifest),
      ])
        await expect(call(), `${String(call)} ${JSON.stringify(shape)}`).rejects.toMatchObject({
          name: 'VarveError',
          code: 'INVALID_ARGUMENT',
        })
    }
    expect(readdirSync(target)).toEqual(['kept'])
  })

  test('a restore that refuses a manifest has not removed anything before', async () => {
    const target = write({ kept: 'kept' })
    const manifest: FileManifest = { kind: 'varve-files', version: 1, files: [{ ...item, path: '../x' }] }
    await expect(cache.files.restore(manifest, target, { clean: true })).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
    expect(readdirSync(target)).toEqual(['kept'])
  })

  test('a restore refuses names that are equal on some file system', async () => {
    const { target } = trapped('nothing')
    for (const [one, other] of [
      ['a.txt', 'A.txt'],
      ['é', 'e\u0301'],
      ['d/x', 'D/y'],
      ['a', 'a/b'],
      ['same', 'same'],
      ['ß', 'SS'],
    ] as const) {
      const manifest: FileManifest = {
        kind: 'varve-files',
        version: 1,
        files: [
          { ...item, path: one },
          { ...item, path: other },
        ],
      }
      await expect(cache.files.restore(manifest, target), `${one} ${other}`).rejects.toMatchObject({
        code: 'UNSAFE_PATH',
      })
    }
  })
})

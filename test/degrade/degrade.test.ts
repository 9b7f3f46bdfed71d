/**
 * A cache directory that cannot be used never fails a build. The cache reads what is readable and keeps the rest in memory.
 * One warning and `status().degraded` report the reason and the solution. A durable commit fails if nothing is on disk.
 */
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { attempt, codeOf, IS_ROOT, made, opened, UNUSABLE } from './folders.ts'

it('a Node.js without what Varve needs is refused with the supported versions', async () => {
  const missing = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
  const call = opened('unused', 'wasm').finally(() => missing.mockRestore())
  await expect(call).rejects.toMatchObject({
    code: 'ENGINE_UNAVAILABLE',
    message: expect.stringMatching(/Node.js .* is not supported: .* 20.19/),
  })
})

const SECRET = 'a long secret of the trusted branch'

/** Everything below a folder with its kind, size and mode. */
function tree(folder: string): string[] {
  const below = readdirSync(folder, { recursive: true, withFileTypes: true })
  const paths = below.map((entry) => [join(entry.parentPath, entry.name), entry.isFile()] as const)
  return paths.map(([path, isFile]) => `${path} ${isFile ? statSync(path).size : ''}`).sort()
}

/** Files below a folder that this process has open. */
function openBelow(folder: string): string[] {
  const paths = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(join('/proc/self/fd', name))
    } catch {
      return '' // the one by which they were listed
    }
  })
  return paths.filter((path) => path.startsWith(folder))
}

describe.each(ENGINES)('degrading: %s', (engine) => {
  it.each(Object.entries(UNUSABLE))('%s: in memory, nothing is touched', async (name, prepare) => {
    const path = join(makeFolder(), 'cache')
    const [why, fix] = prepare(path)
    const dir = name === 'a file above it' ? join(path, 'below') : path
    const before = tree(dirname(path))
    const { cache, space, warnings } = await opened(dir, engine)
    expect(cache.status().degraded).toMatchObject({
      mode: 'memory',
      why: expect.stringMatching(why),
      fix: expect.stringMatching(fix),
    })
    expect(warnings.map(({ code, message }) => [code, why.test(message)])).toEqual([
      [cache.status().degraded?.code, true],
    ])
    space.put('key', 'value')
    expect(await cache.commit()).toMatchObject({ entries: 1, inMemory: true })
    const [code] = [cache.status().degraded?.code]
    expect([space.get('key'), await codeOf(cache.flush())]).toEqual(['value', code])
    space.put('more', 'value')
    expect([await codeOf(cache.commit({ durability: 'durable' })), space.get('more')]).toEqual([code, 'value'])
    const other = await opened(dir, engine)
    expect(other.space.get('key')).toBe('value')
    await other.cache.close()
    await cache.close()
    expect([tree(dirname(path)), warnings.length]).toEqual([before, 1])
  })

  it('shared: true trusts a sticky folder, and what is made is for its owner only, whatever the umask', async () => {
    const dir = join(makeFolder(), 'cache')
    mkdirSync(dir)
    attempt('chmod', ['1777', dir])
    const umask = process.umask(0)
    try {
      const { cache, space, warnings } = await opened(dir, engine, { shared: true })
      expect([cache.status().degraded, warnings]).toEqual([undefined, []])
      space.put('key', 'value')
      space.put('large', 'x'.repeat(1 << 21))
      await cache.commit()
      await cache.compact({ full: true })
      await cache.close()
      const below = readdirSync(dir, { recursive: true, withFileTypes: true })
      const modes = below.map((entry) => [
        entry.isFile(),
        (statSync(join(entry.parentPath, entry.name)).mode & 0o777).toString(8),
      ])
      expect(new Set(modes.map(String))).toEqual(new Set(['true,600', 'false,700']))
    } finally {
      process.umask(umask)
    }
  })

  /** It was looked at when the cache was opened, and only then. */
  it.skipIf(process.platform === 'win32')(
    'a directory that others may write to, made after the cache was opened, is not used',
    async () => {
      const dir = join(makeFolder(), 'cache')
      const { cache, space, warnings } = await opened(dir, engine)
      mkdirSync(dir)
      attempt('chmod', ['777', dir])
      expect(cache.refresh()).toBe(false)
      space.put('key', 'value')
      expect([await cache.commit(), space.get('key')]).toEqual([
        { entries: 0, bytes: 0, maintenanceDue: false, inMemory: true },
        'value',
      ])
      expect([await codeOf(cache.flush()), await codeOf(cache.compact())]).toEqual(['PERMISSION', 'PERMISSION'])
      expect(cache.status().degraded).toMatchObject({ mode: 'memory', why: expect.stringContaining('(mode 777)') })
      expect([readdirSync(dir), warnings.map(({ code }) => code)]).toEqual([[], ['PERMISSION']])
      attempt('chmod', ['700', dir])
      expect(await cache.commit()).toMatchObject({ entries: 1 })
      expect(cache.status().degraded).toBeUndefined()
      await cache.close()
    },
  )

  it('a folder of another user is not even read', async ({ skip }) => {
    if (!IS_ROOT) return skip('only root may give files away')
    const dir = await made(engine)
    for (const folder of [dir, join(dir, 'v1')]) {
      chownSync(folder, 12_345, 12_345)
      const { cache, space, warnings } = await opened(dir, engine)
      expect(space.get('before')).toBeUndefined()
      expect(cache.status().degraded).toMatchObject({
        mode: 'memory',
        code: 'PERMISSION',
        why: expect.stringContaining('user 12345'),
      })
      expect(warnings.length).toBe(1)
      await cache.close()
      const trusting = await opened(dir, engine, { shared: true })
      expect(trusting.space.get('before')).toBe('safe')
      await trusting.cache.close()
      chownSync(folder, 0, 0)
    }
  })

  it.for([undefined, SECRET])(
    'a read-only disk is read, new entries stay in memory until it is writable (secret: %s)',
    async (secret, { skip }) => {
      const dir = makeFolder()
      if (!attempt('mount', ['-t', 'tmpfs', '-o', 'mode=700', 'tmpfs', dir])) return skip('only root may mount')
      try {
        await made(engine, dir, { secret })
        attempt('mount', ['-o', 'remount,ro', dir])
        const { cache, space, warnings } = await opened(dir, engine, { secret })
        expect(cache.status().degraded).toMatchObject({
          mode: 'unwritable',
          code: 'PERMISSION',
          why: expect.stringContaining('read-only'),
        })
        space.put('more', 'in memory')
        expect(await cache.commit()).toEqual({ entries: 0, bytes: 0, maintenanceDue: false, inMemory: true })
        expect([space.get('before'), space.get('more'), warnings.length]).toEqual(['safe', 'in memory', 1])
        expect([await codeOf(cache.commit({ durability: 'durable' })), await codeOf(cache.flush())]).toEqual([
          'PERMISSION',
          'PERMISSION',
        ])
        attempt('mount', ['-o', 'remount,rw', dir])
        await new Promise((resolve) => setTimeout(resolve, 1100))
        expect(await cache.commit()).toMatchObject({ entries: 1 })
        expect(cache.status().degraded).toBeUndefined()
        await cache.close()
        const again = await opened(dir, engine, { secret })
        expect([again.space.get('before'), again.space.get('more')]).toEqual(['safe', 'in memory'])
        await again.cache.close()
      } finally {
        attempt('umount', ['-l', dir])
      }
    },
  )

  it('the directory of a cache with a secret that others may write to is not read, the one without a secret beside it is', async () => {
    const dir = await made(engine)
    await made(engine, dir, { secret: SECRET })
    const [name = ''] = readdirSync(dir).filter((folder) => folder !== 'v1')
    expect(name).toMatch(/^v1-[0-9a-f]{16}$/)
    attempt('chmod', ['777', join(dir, name)])
    const before = tree(dir)
    const { cache, space, warnings } = await opened(dir, engine, { secret: SECRET })
    expect(cache.status().degraded).toMatchObject({
      mode: 'memory',
      code: 'PERMISSION',
      why: expect.stringContaining(`${name}' (mode 777)`),
    })
    space.put('key', 'value')
    expect([space.get('before'), await cache.commit(), warnings.length]).toMatchObject([
      undefined,
      { entries: 1, inMemory: true },
      1,
    ])
    await cache.close()
    const open = await opened(dir, engine)
    expect([open.space.get('before'), open.cache.status().degraded, tree(dir)]).toEqual(['safe', undefined, before])
    await open.cache.close()
  })

  it('a disk that fills up: commit rejects, everything stays readable, the next one writes all of it', async ({
    skip,
  }) => {
    const root = makeFolder()
    if (!attempt('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'tmpfs', root])) return skip('only root may mount')
    try {
      const dir = await made(engine, join(root, 'cache'))
      const { cache, space } = await opened(dir, engine)
      const filler = join(root, 'filler')
      attempt('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4096', 'count=4096'])
      for (const key of ['one', 'two']) {
        space.put(key, key.repeat(20_000))
        expect(await codeOf(cache.commit())).toBe('DISK_FULL')
      }
      expect(cache.status().degraded).toMatchObject({
        mode: 'unwritable',
        code: 'DISK_FULL',
        fix: expect.stringContaining('free some space'),
      })
      expect([space.get('before'), space.get('one')?.length, space.get('two')?.length]).toEqual([
        'safe',
        60_000,
        60_000,
      ])
      rmSync(filler)
      expect(await cache.commit()).toMatchObject({ entries: 2 })
      expect(cache.status().degraded).toBeUndefined()
      await cache.close()
      const again = await opened(dir, engine)
      expect([again.space.get('one')?.length, again.space.get('two')?.length]).toEqual([60_000, 60_000])
      await again.cache.close()
    } finally {
      attempt('umount', ['-l', root])
    }
  })

  it('close() on a full disk loses what was put, without a word or with files left open', async ({ skip }) => {
    const root = makeFolder()
    if (!attempt('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'tmpfs', root])) return skip('only root may mount')
    try {
      const dir = await made(engine, join(root, 'cache'))
      const filler = join(root, 'filler')
      for (const hasFailed of [false, true]) {
        const { cache, space, warnings } = await opened(dir, engine)
        attempt('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4096', 'count=4096'])
        space.put('one', 'x'.repeat(20_000))
        expect(hasFailed ? await codeOf(cache.commit()) : 'DISK_FULL').toBe('DISK_FULL')
        await cache.close()
        expect(warnings.map(({ code, message }) => [code, message])).toEqual([
          ['DISK_FULL', expect.stringMatching(/1 entry \(2\d{4} bytes\)/)],
        ])
        expect(openBelow(dir)).toEqual([])
        rmSync(filler)
        const again = await opened(dir, engine)
        expect([again.space.get('before'), again.space.get('one')]).toEqual(['safe', undefined])
        await again.cache.close()
      }
    } finally {
      attempt('umount', ['-l', root])
    }
  })

  it('close() fails if its compaction finds a full disk', async ({ skip }) => {
    const root = makeFolder()
    if (!attempt('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', root])) return skip('only root may mount')
    try {
      const { cache, space, warnings } = await opened(join(root, 'cache'), engine)
      let failures = 0
      for (let index = 0; index < 40; index++) {
        space.put(`k${index}`, randomBytes(30_000).toString('hex'))
        if ((await codeOf(cache.commit({ durability: index % 2 === 0 ? 'relaxed' : 'durable' }))) === 'DISK_FULL')
          failures++
      }
      expect(await codeOf(cache.compact({ full: true }))).toBe('DISK_FULL')
      await cache.close()
      expect([failures > 0, warnings.filter(({ code }) => code !== 'DISK_FULL'), openBelow(root)]).toEqual([
        true,
        [],
        [],
      ])
      const again = await opened(join(root, 'cache'), engine)
      expect(again.space.get('k0')?.length).toBe(60_000)
      await again.cache.close()
    } finally {
      attempt('umount', ['-l', root])
    }
  })

  it.skipIf(process.platform === 'win32')('close() fails if a file took the place of the directory', async () => {
    const dir = await made(engine)
    const { cache, space, warnings } = await opened(dir, engine)
    space.put('key', 'value')
    await cache.commit()
    rmSync(dir, { recursive: true })
    writeFileSync(dir, '')
    await cache.close()
    expect(warnings.map(({ code }) => code)).toEqual(['IO', 'IO'])
    expect(openBelow(dir)).toEqual([])
  })

  it.each(['a file where the folder should be', 'others may write to it'])(
    '%s: close() neither fails nor warns of what was put',
    async (name) => {
      const dir = join(makeFolder(), 'cache')
      UNUSABLE[name]?.(dir)
      const before = tree(dirname(dir))
      const { cache, space, warnings } = await opened(dir, engine)
      space.put('key', 'value')
      await cache.close()
      expect([tree(dirname(dir)), warnings.length]).toEqual([before, 1])
    },
  )

  it('nothing is written through links planted in the folder', async () => {
    const dir = await made(engine)
    const outside = makeFolder()
    writeFileSync(join(outside, 'theirs'), '')
    attempt('ln', ['-s', outside, join(dir, 'v1', 'files')])
    const { cache, space } = await opened(dir, engine)
    space.put('large', 'x'.repeat(1 << 21))
    await codeOf(cache.commit()) // the link is quarantined, or refused
    expect(space.get('large')?.length).toBe(1 << 21)
    await cache.close()
    expect(readdirSync(outside)).toEqual(['theirs'])
  })

  it('readOnly in a folder that is not there, or not usable, reads nothing and refuses to commit', async () => {
    const dir = join(makeFolder(), 'cache')
    const { cache, space } = await opened(dir, engine, { readOnly: true })
    space.put('key', 'value')
    expect([await codeOf(cache.commit()), space.get('key'), existsSync(dir)]).toEqual(['READ_ONLY', 'value', false])
    await cache.close()
    writeFileSync(dir, '')
    const file = await opened(dir, engine, { readOnly: true })
    file.space.put('key', 'value')
    expect([await codeOf(file.cache.commit()), file.space.get('key')]).toEqual(['READ_ONLY', 'value'])
    await file.cache.close()
  })
})

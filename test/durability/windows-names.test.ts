/**
 * Windows keeps the name of a removed file as long as a program has the file open, and denies every access to it. The
 * WebAssembly engine took that for a lack of rights: a cache that was opened while another process compacted it did not open.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { openCache, type VarveError } from 'varve'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { nodeHost } from '../../packages/varve/dist/engine/host-node.js'
import { makeFolder } from '../folders.ts'

const { openSync, closeSync, lstatSync, renameSync, linkSync, unlinkSync } = fs
const platform = Object.getOwnPropertyDescriptor(process, 'platform')

/** A program that changes the cache of its directory and compacts it. */
const COMPACT = `
import { openCache } from 'varve'
const cache = await openCache({ name: 'windows', dir: process.argv[1], engine: 'wasm' })
cache.namespace('n').put('other', Uint8Array.of(2))
await cache.commit()
await cache.compact({ full: true })
await cache.close()`

/** The files that this process has open, and what happens before the next table is opened. */
const open = new Map<number, string>()
let interrupt: (() => void) | undefined
let denied = 0

function check(path: fs.PathLike): void {
  if (fs.existsSync(path) || ![...open.values()].includes(String(path))) return
  denied++
  throw Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' })
}

beforeEach(() => {
  Object.defineProperty(process, 'platform', { value: 'win32' })
  vi.spyOn(fs, 'openSync').mockImplementation((path, flags, mode) => {
    if (String(path).endsWith('.table')) {
      const run = interrupt
      interrupt = undefined
      run?.()
    }
    check(path)
    const file = openSync(path, flags, mode)
    open.set(file, String(path))
    return file
  })
  vi.spyOn(fs, 'closeSync').mockImplementation((file) => {
    open.delete(file)
    closeSync(file)
  })
  vi.spyOn(fs, 'lstatSync').mockImplementation(((path: fs.PathLike, options: fs.StatSyncOptions) => {
    check(path)
    return lstatSync(path, options)
  }) as typeof fs.lstatSync)
  for (const [name, call] of Object.entries({ renameSync, linkSync, unlinkSync })) {
    vi.spyOn(fs, name as 'renameSync').mockImplementation((...paths) => {
      paths.forEach(check)
      Reflect.apply(call, fs, paths)
    })
  }
})

afterEach(() => {
  vi.restoreAllMocks()
  Object.defineProperty(process, 'platform', platform ?? {})
})

it('a cache opens while another process removes the table that it reads, and a third one has open, on Windows', async () => {
  const warnings: VarveError[] = []
  const dir = join(makeFolder(), 'cache')
  const options = {
    name: 'windows',
    dir,
    engine: 'wasm',
    onWarning: (warning: VarveError) => void warnings.push(warning),
  } as const
  await using holder = await openCache(options)
  holder.namespace('n').put('key', Uint8Array.of(1))
  await holder.commit()
  await holder.compact({ full: true })
  expect(holder.namespace('n').get('key')).toEqual(Uint8Array.of(1))
  interrupt = () => void execFileSync(process.execPath, ['--input-type=module', '-e', COMPACT, dir])
  await using late = await openCache(options)
  expect([late.namespace('n').get('key'), late.namespace('n').get('other')]).toEqual([
    Uint8Array.of(1),
    Uint8Array.of(2),
  ])
  expect(warnings).toEqual([])
  expect(denied, 'calls that the system denied').toBeGreaterThan(0)
})

it('a file that was removed while it is open is missing to every call, and its name is taken, on Windows', () => {
  const folder = makeFolder()
  const host = nodeHost(fs, folder)
  const [NOT_FOUND, EXISTS] = [-2, -17]
  const file = host.createNew('a')
  host.close(host.createNew('b'))
  unlinkSync(join(folder, 'a'))
  const missing = [host.open('a'), host.link('a', 'c'), host.rename('a', 'c'), host.remove('a')]
  expect(missing).toEqual(missing.map(() => NOT_FOUND))
  expect(host.stat('a', new Float64Array(3))).toBe(0)
  expect([host.createNew('a'), host.link('b', 'a')]).toEqual([EXISTS, EXISTS])
  host.close(file)
})

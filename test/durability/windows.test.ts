/**
 * Windows syncs a file only through a writable handle. The WebAssembly engine opened the files of other writers for reading
 * and synced them, so on Windows each commit beside another writer, and each stored file, failed with "permission denied".
 */
import fs from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'

const { openSync, fdatasyncSync } = fs
const { O_RDWR, O_WRONLY } = fs.constants
const platform = Object.getOwnPropertyDescriptor(process, 'platform')

const forbidden = (): Error => Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' })

beforeEach(() => {
  Object.defineProperty(process, 'platform', { value: 'win32' })
  const mayWrite = new Map<number, boolean>()
  vi.spyOn(fs, 'openSync').mockImplementation((path, flags, mode) => {
    const file = openSync(path, flags, mode)
    mayWrite.set(file, typeof flags === 'number' && (flags & (O_RDWR | O_WRONLY)) !== 0)
    return file
  })
  vi.spyOn(fs, 'fdatasyncSync').mockImplementation((file) => {
    if (mayWrite.get(file) !== true) throw forbidden()
    fdatasyncSync(file)
  })
})

afterEach(() => {
  vi.restoreAllMocks()
  Object.defineProperty(process, 'platform', platform ?? {})
})

it('a durable commit of the WebAssembly engine syncs what others wrote, on Windows', async () => {
  const options = { name: 'windows', dir: join(makeFolder(), 'cache'), engine: 'wasm' } as const
  await using one = await openCache(options)
  await using other = await openCache(options)
  one.namespace('n').put('large', new Uint8Array(2 << 20))
  await one.commit()
  other.namespace('n').put('key', new Uint8Array(1))
  await other.commit({ durability: 'durable' })
  await other.refresh()
  await other.compact({ full: true })
  await one.flush()
  expect(other.namespace('n').get('large')).toHaveLength(2 << 20)
})

it('a file that may only be read is read, on Windows', async () => {
  const options = { name: 'windows', dir: join(makeFolder(), 'cache'), engine: 'wasm' } as const
  await using cache = await openCache(options)
  cache.namespace('n').put('key', Uint8Array.of(7))
  await cache.commit()
  vi.mocked(fs.openSync).mockImplementation((path, flags, mode) => {
    if (typeof flags === 'number' && (flags & O_RDWR) !== 0) throw forbidden()
    return openSync(path, flags, mode)
  })
  await using reader = await openCache({ ...options, readOnly: true })
  expect(reader.namespace('n').get('key')).toEqual(Uint8Array.of(7))
})

/**
 * A file name survives a power failure only after its folder is synced. The WebAssembly engine synced the folder
 * of its files and not those above, so a durable first commit could vanish together with the folder it was in.
 */
import fs from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { afterEach, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'

afterEach(() => void vi.restoreAllMocks())

it('a durable first commit of the WebAssembly engine does not vanish with its folder', async () => {
  const parent = makeFolder()
  const paths = new Map<number, string>()
  const synced: string[] = []
  const { openSync } = fs
  vi.spyOn(fs, 'openSync').mockImplementation((path, ...rest) => {
    const file = openSync(path, ...rest)
    paths.set(file, String(path))
    return file
  })
  vi.spyOn(fs, 'fsyncSync').mockImplementation((file) => void synced.push(paths.get(file) ?? ''))
  await using cache = await openCache({ name: 'names', dir: join(parent, 'cache'), engine: 'wasm' })
  cache.namespace('n').put('key', new Uint8Array(1))
  await cache.commit({ durability: 'durable' })
  expect(synced).toContain(join(parent, 'cache', 'v1'))
  expect(synced).toContain(join(parent, 'cache'))
  expect(synced).toContain(parent)
  // Regression: the names of a folder that was made again were not synced.
  synced.length = 0
  fs.rmSync(join(parent, 'cache'), { recursive: true })
  cache.namespace('n').put('key', new Uint8Array(2))
  await cache.commit({ durability: 'durable' })
  expect(synced).toContain(join(parent, 'cache', 'v1'))
  expect(synced).toContain(join(parent, 'cache'))
  expect(synced).toContain(parent)
})

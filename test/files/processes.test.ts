/** Many processes of both engines store the same contents into one folder, and some compact it meanwhile. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { FileManifest } from 'varve/files'
import { expect, test } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { open, read, storedFiles, write } from './trees.ts'

const run = promisify(execFile)

test('processes of both engines that store the same content store it once, and complete', async () => {
  const dir = join(makeFolder(), 'cache')
  const tree = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`d${index % 4}/${index}.txt`, `content ${index} `.repeat(50)]),
  )
  const root = write(tree)
  const storer = join(import.meta.dirname, 'storer.mjs')
  const processes = ['native', 'wasm', 'native', 'wasm'].map((engine) =>
    run(process.execPath, [storer, dir, engine, root, '8']),
  )
  await Promise.all(processes)
  for (const engine of ENGINES) {
    const cache = await open(engine, dir)
    const outputs = [...cache.namespace<FileManifest>('outputs', { codec: 'json' }).entries()]
    expect(outputs).toHaveLength(12)
    const expected = await cache.files.store(root)
    for (const [, manifest] of outputs) expect(manifest).toEqual(expected)
    const target = makeFolder()
    await cache.files.restore(expected, target)
    expect(read(target)).toEqual(tree)
    expect((await cache.files.verify()).sound).toBe(true)
    await cache.close()
  }
  const cache = await open('native', dir)
  await cache.compact({ full: true })
  expect(storedFiles(dir)).toHaveLength(60)
  await cache.close()
})

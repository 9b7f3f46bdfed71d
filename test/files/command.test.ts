/** `varve files`: text for people, JSON for programs, exit codes; reading commands write nothing. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FileManifest } from 'varve/files'
import { expect, test } from 'vitest'
import { type Ran, runVarve } from '../command.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { slow } from '../slow.ts'
import { EVERYTHING, open, read, storedFiles, write } from './trees.ts'

const varve = (...args: string[]): Ran => runVarve(['files', ...args])

async function makeCache(): Promise<string> {
  const dir = join(makeFolder(), 'cache')
  const cache = await open('native', dir)
  const outputs = cache.namespace<FileManifest>('outputs', { codec: 'json' })
  outputs.put('build\u001b[31m', await cache.files.store(write(EVERYTHING)))
  cache
    .namespace<FileManifest>('v8', { codec: 'v8' })
    .put('types', await cache.files.store(write({ 'a.d.ts': 'declare let a' })))
  outputs.put('old', await cache.files.store(write({ 'old.js': 'old' })))
  await cache.commit()
  outputs.delete('old')
  await cache.commit()
  await cache.close()
  return dir
}

test('varve files ls, verify and restore write nothing into the cache', slow, async () => {
  const dir = await makeCache()
  const before = snapshot(dir)
  const { status, out, err } = varve('ls', '--dir', dir, '--v8')
  expect([status, err]).toEqual([0, ''])
  expect(out).toMatch(/6 files .*outputs {2}build\\x1b\[31m\n/)
  expect(out).toMatch(/1 file .*v8 {2}types\n/)
  const { manifests: listed } = JSON.parse(varve('ls', '--dir', dir, '--v8', '--json').out)
  expect(listed.map(({ namespace, entries }: { namespace: string; entries: number }) => [namespace, entries])).toEqual([
    ['outputs', 6],
    ['v8', 1],
  ])
  expect(JSON.parse(varve('ls', '--dir', dir, '--stored', '--json').out).contents).toHaveLength(storedFiles(dir).length)
  expect(JSON.parse(varve('verify', '--dir', dir, '--json').out).caches).toMatchObject([{ sound: true, lost: [] }])
  const target = write({ 'stale.txt': 'stale' })
  const restored = varve('restore', String.raw`build\x1b[31m`, target, '--dir', dir, '--clean', '--json')
  expect(JSON.parse(restored.out).report).toMatchObject({ entries: 6, unchanged: 0, removed: 1 })
  expect(read(target)).toEqual(EVERYTHING)
  expect(varve('restore', 'nothing', target, '--dir', dir, '--v8')).toMatchObject({
    status: 1,
    err: "varve: no manifest 'nothing'\n",
  })
  expect(varve('restore', 'types', target, '--dir', dir, '--mode', 'teleport').status).toBe(2)
  expect(snapshot(dir)).toEqual(before)
})

/** `varve files ls` deserialised every value of the codec v8. */
test('varve files deserialises values of the codec v8 only on request, and counts them otherwise', async () => {
  const dir = await makeCache()
  const note = "varve: 1 value of codec 'v8' may be manifests, too; look at them with --v8\n"
  const plain = varve('ls', '--dir', dir, '--json')
  expect([plain.err, JSON.parse(plain.out).manifests.map(({ namespace }: { namespace: string }) => namespace)]).toEqual(
    [note, ['outputs']],
  )
  expect(varve('verify', '--dir', dir)).toMatchObject({ status: 0, err: note })
  expect(varve('restore', 'types', makeFolder(), '--dir', dir)).toEqual({
    status: 1,
    out: '',
    err: `${note}varve: no manifest 'types'\n`,
  })
  const target = makeFolder()
  expect(varve('restore', 'types', target, '--dir', dir, '--v8').status).toBe(0)
  expect(read(target)).toEqual({ 'a.d.ts': 'declare let a' })
})

test('varve files takes no value for a manifest that has the marker of one and other fields', async () => {
  const dir = await makeCache()
  const cache = await open('native', dir)
  const text = cache.namespace('text', { codec: 'text' })
  for (const files of [[null], [{ path: 5 }], [{ path: 'a', digest: '0'.repeat(64), size: 'large' }], 'none']) {
    text.put(JSON.stringify(files), JSON.stringify({ kind: 'varve-files', version: 1, files }))
  }
  await cache.commit()
  await cache.close()
  const { status, out, err } = varve('ls', '--dir', dir, '--json')
  expect([status, err]).toEqual([0, expect.not.stringContaining('internal error')])
  expect(JSON.parse(out).manifests.map(({ key }: { key: string }) => key)).toEqual(['build\u001b[31m'])
  expect(varve('verify', '--dir', dir)).toMatchObject({ status: 0 })
})

test('varve files verify reports missing files, and gc removes unreferenced ones', async () => {
  const dir = await makeCache()
  const [report] = JSON.parse(varve('gc', '--dir', dir, '--json').out).caches
  expect(report).toMatchObject({ contents: storedFiles(dir).length })
  expect(varve('ls', '--dir', dir).out).not.toContain('old')
  for (const file of storedFiles(dir)) writeFileSync(file, 'damage')
  const { status, out } = varve('verify', '--dir', dir)
  expect([status, out]).toEqual([1, expect.stringContaining('contents lost')])
  const target = makeFolder()
  const failed = varve('restore', 'types', target, '--dir', dir, '--v8', '--json')
  expect([failed.status, JSON.parse(failed.out)]).toMatchObject([4, { error: { code: 'FILES_DAMAGED' } }])
})

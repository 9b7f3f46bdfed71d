/** A directory as a store, if a writer pauses between two steps while others publish. */
import { execFileSync } from 'node:child_process'
import fs, { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { directory } from '@varve/remote'
import { describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'

const pause = { beforeLink: async (): Promise<void> => undefined }

const link = fs.promises.link
vi.spyOn(fs.promises, 'link').mockImplementation(async (from, to) => {
  await pause.beforeLink()
  return link(from, to)
})

it('a writer that pauses while three others replace the blob has a conflict, although its version number is free again', async () => {
  const store = directory(join(makeFolder(), 'store'))
  const text = (value: string): Uint8Array => new Uint8Array(Buffer.from(value))
  await store.put('head', text('1'), { ifAbsent: true })
  let resume = (): void => undefined
  const reached = new Promise<void>((isReached) => {
    pause.beforeLink = () => {
      pause.beforeLink = async () => undefined
      isReached()
      return new Promise((proceed) => (resume = proceed))
    }
  })
  const paused = store.put('head', text('stale'), { ifMatch: '1' })
  await reached
  for (const etag of ['1', '2', '3'])
    expect(await store.put('head', text(`after ${etag}`), { ifMatch: etag })).toBe('stored')
  resume()
  expect(await paused).toBe('conflict')
  expect(Buffer.from((await store.get('head'))?.bytes ?? []).toString()).toBe('after 3')
})

it('a list yields blobs while it reads, so a store of many directories takes no memory for their names', async () => {
  const store = directory(makeFolder())
  const names = Array.from({ length: 40 }, (_, index) => `a/${index}/blob`)
  for (const name of names) await store.put(name, Buffer.from(name))
  const list = store.list?.('a/')[Symbol.asyncIterator]()
  const opened = vi.spyOn(fs.promises, 'opendir')
  const first = await list?.next()
  expect([first?.done, opened.mock.calls.length]).toEqual([false, 2])
  opened.mockRestore()
  const found = [first?.value?.name]
  for (let next = await list?.next(); next?.done === false; next = await list?.next()) found.push(next.value.name)
  expect(found.sort()).toEqual(names.sort())
})

it('a list is of its prefix only, has a replaced blob once, and ends if its signal is aborted', async () => {
  const store = directory(makeFolder())
  for (const name of ['a/b', 'a/bc', 'a/b@', 'ab/c', 'z']) await store.put(name, Buffer.from(name))
  for (let count = 0; count < 3; count++) await store.put('a/b', Buffer.from('again'))
  const namesOf = async (prefix: string, signal?: AbortSignal): Promise<string[]> => {
    const names: string[] = []
    for await (const { name } of store.list?.(prefix, { signal }) ?? []) names.push(name)
    return names.sort()
  }
  expect([await namesOf(''), await namesOf('a'), await namesOf('a/b'), await namesOf('none/')]).toEqual([
    ['a/b', 'a/b@', 'a/bc', 'ab/c', 'z'],
    ['a/b', 'a/b@', 'a/bc', 'ab/c'],
    ['a/b', 'a/b@', 'a/bc'],
    [],
  ])
  await expect(namesOf('', AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped')
  await expect(namesOf('../')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

it('a file in place of the directory is an error, not an empty store', async () => {
  const path = join(makeFolder(), 'file')
  writeFileSync(path, '')
  const store = directory(path)
  for (const call of [() => store.get('a'), () => store.head('a')])
    await expect(call()).rejects.toMatchObject({
      code: 'REMOTE_UNAVAILABLE',
      message: expect.stringContaining('is not a directory'),
    })
  expect(await directory(`${path}-none`).get('a')).toBeUndefined()
})

it('a list has every blob that stays, while a collector removes others', async () => {
  const store = directory(makeFolder())
  await store.put('a/kept', Buffer.from('kept'))
  const over = new AbortController()
  const change = async (name: string): Promise<void> => {
    while (!over.signal.aborted) {
      for (const text of ['1', '2']) await store.put(name, Buffer.from(text))
      await store.delete?.([name])
    }
  }
  const changing = ['a/b', 'a/c', 'z/d'].map(change)
  for (let round = 0; round < 300; round++) {
    const names: string[] = []
    for await (const { name } of store.list?.('a/') ?? []) names.push(name)
    expect(names).toContain('a/kept')
  }
  over.abort()
  await Promise.all(changing)
})

describe.skipIf(process.platform === 'win32')('what others have put into a directory', () => {
  it.each<[string, (path: string) => void]>([
    ['a pipe', (path) => void execFileSync('mkfifo', [path])],
    ['a directory', (path) => mkdirSync(path)],
  ])('%s that has the name of a blob is REMOTE_UNTRUSTED, and nothing waits for it', async (_, make) => {
    const root = makeFolder()
    make(join(root, 'blob'))
    await expect(directory(root).get('blob')).rejects.toMatchObject({
      code: 'REMOTE_UNTRUSTED',
      message: expect.stringContaining("'blob'"),
    })
  })

  it.each<[string, (path: string) => void]>([
    ['a number with a zero before it', (path) => writeFileSync(join(path, '07'), 'x')],
    ['a number that is too long', (path) => writeFileSync(join(path, '9'.repeat(30)), 'x')],
    ['a link to nothing', (path) => symlinkSync('nothing', join(path, '7'))],
  ])('%s among the versions of a blob does not make a read go on for ever', async (_, make) => {
    const root = makeFolder()
    mkdirSync(join(root, 'blob@'))
    make(join(root, 'blob@'))
    expect(await directory(root).get('blob', { signal: AbortSignal.timeout(2000) })).toBeUndefined()
  })

  it('files whose names no blob has are not in a list', async () => {
    const store = directory(makeFolder())
    await store.put('kept', Buffer.from('kept'))
    const root = store.label.slice("directory '".length, -1)
    for (const name of ['100%', '%2E%2E', 'a%2F%2Fb', '%00']) writeFileSync(join(root, name), 'x')
    const names = []
    for await (const { name } of store.list?.('') ?? []) names.push(name)
    expect(names).toEqual(['kept'])
  })
})

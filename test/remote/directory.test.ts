/** A directory as a store, if a writer pauses between two steps while others publish. */
import type * as promises from 'node:fs/promises'
import { join } from 'node:path'
import { directory } from '@varve/remote'
import { expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'

const pause = vi.hoisted(() => ({ beforeLink: async (): Promise<void> => undefined }))

vi.mock('node:fs/promises', async (original) => {
  const files = await original<typeof promises>()
  const link: typeof files.link = async (from, to) => {
    await pause.beforeLink()
    return files.link(from, to)
  }
  return { ...files, link }
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
  for (const etag of ['1', '2', '3']) expect(await store.put('head', text(`after ${etag}`), { ifMatch: etag })).toBe('stored')
  resume()
  expect(await paused).toBe('conflict')
  expect(Buffer.from((await store.get('head'))?.bytes ?? []).toString()).toBe('after 3')
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

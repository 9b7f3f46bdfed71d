/** Exports and imports respect backpressure, can be aborted, and handle streams that fail. */
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { runInNewContext } from 'node:vm'
import { type Cache, openCache, VarveError } from 'varve'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { exported, line } from './streams.ts'

const CHUNK_BYTES = 256 * 1024

/** A cache whose export has some 20 chunks. */
async function filled(engine: 'native' | 'wasm'): Promise<Cache> {
  const cache = await openCache({ name: 'streams', dir: join(makeFolder(), 'cache'), engine })
  const space = cache.namespace('n', { codec: 'text' })
  for (let index = 0; index < 20_000; index++) space.put(`key ${index}`, `${index} `.repeat(30))
  await cache.commit()
  return cache
}

describe.each(['native', 'wasm'] as const)('a stream, %s', (engine) => {
  it('an export writes chunks of 256 KiB that end with an entry, one at a time', async () => {
    const cache = await filled(engine)
    let [waiting, waitingMax] = [0, 0]
    const chunks: Buffer[] = []
    const slow = new Writable({
      highWaterMark: 1 << 30, // the export waits for what was taken, not for what the stream calls too much
      write(chunk: Buffer, _encoding, done) {
        chunks.push(chunk)
        setTimeout(() => {
          waiting -= 1
          done()
        }, 2)
      },
    })
    const write = slow.write.bind(slow)
    slow.write = ((chunk: Uint8Array, callback: () => void) => {
      waitingMax = Math.max(waitingMax, ++waiting)
      return write(chunk, callback)
    }) as typeof slow.write
    await cache.exportJson(slow, { format: 'ndjson' })
    expect(waitingMax).toBe(1)
    expect(chunks.length).toBeGreaterThan(10)
    expect(chunks.every((chunk) => chunk.at(-1) === 0x0a)).toBe(true)
    const full = chunks.slice(0, -1).map((chunk) => chunk.length)
    expect(Math.min(...full)).toBeGreaterThanOrEqual(CHUNK_BYTES)
    expect(Math.max(...full)).toBeLessThan(CHUNK_BYTES + 1000)
    expect(Buffer.concat(chunks).toString()).toBe(await exported(cache, { format: 'ndjson' }))
    await cache.close()
  })

  it('an export accepts a web stream', async () => {
    const [cache, other] = [
      await filled(engine),
      await openCache({ name: 'other', dir: join(makeFolder(), 'cache'), engine }),
    ]
    const through = new TransformStream<Uint8Array, Uint8Array>()
    const reading = other.importJson(through.readable)
    const report = await cache.exportJson(through.writable)
    await through.writable.close()
    expect(await reading).toMatchObject({ entries: report.entries, bytes: report.bytes })
    expect(await exported(other)).toBe(await exported(cache))
    await Promise.all([cache.close(), other.close()])
  })

  it('an aborted export leaves a stream that does not accept data', async () => {
    const cache = await filled(engine)
    const cancelled = { name: 'VarveError', code: 'CANCELLED' }
    const stuck = new Writable({ write: () => {} })
    await expect(cache.exportJson(stuck, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject(cancelled)
    await expect(cache.exportJson(stuck, { signal: AbortSignal.abort() })).rejects.toMatchObject(cancelled)
    const web = new WritableStream<Uint8Array>({ write: () => new Promise(() => {}) })
    await expect(cache.exportJson(web, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject(cancelled)
    expect(web.locked).toBe(false)
    await expect(cache.importJson(new PassThrough(), { signal: AbortSignal.timeout(50) })).rejects.toMatchObject(
      cancelled,
    )
    const silent = new ReadableStream<Uint8Array>()
    await expect(cache.importJson(silent, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject(cancelled)
    await cache.close()
  })

  it('an export to a stream that never waits lets other work run, which may abort it', async () => {
    const cache = await filled(engine)
    const stop = new AbortController()
    const eager = { on: () => {}, off: () => {}, write: (_chunk: Uint8Array, done: () => void) => (done(), true) }
    const again = async (): Promise<void> => {
      for (;;) await cache.exportJson(eager, { signal: stop.signal })
    }
    setTimeout(() => stop.abort(), 20)
    await expect(again()).rejects.toMatchObject({ code: 'CANCELLED' })
    await cache.close()
  })

  it('a failing stream makes only its own export or import fail', async () => {
    const cache = await filled(engine)
    const full = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error('no space'), { code: 'ENOSPC' })),
    })
    const failure = await cache.exportJson(full).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(VarveError)
    expect(failure).toMatchObject({ code: 'IO', message: 'the stream failed: no space', cause: { code: 'ENOSPC' } })
    const gone = new PassThrough()
    gone.destroy()
    await expect(cache.exportJson(gone)).rejects.toMatchObject({ code: 'IO' })
    const held = new PassThrough({ highWaterMark: 1 }) // without a reader
    setTimeout(() => held.destroy(), 20)
    await expect(cache.exportJson(held)).rejects.toMatchObject({
      code: 'IO',
      message: expect.stringContaining('closed before it took everything'),
    })
    const broken = Readable.from(
      (function* () {
        yield line({ version: ' text', key: 'half', text: '' })
        throw new Error('cut off')
      })(),
    )
    await expect(cache.importJson(broken)).rejects.toMatchObject({ code: 'IO', message: 'the stream failed: cut off' })
    await cache.commit()
    expect(cache.namespace('n', { codec: 'text' }).has('half')).toBe(false)
    await cache.close()
  })

  it('an import takes bytes of another realm, as test runners have', async () => {
    const cache = await filled(engine)
    const bytes: unknown = runInNewContext('Uint8Array.from(text)', { text: new TextEncoder().encode('[]') })
    expect(bytes).not.toBeInstanceOf(Uint8Array)
    expect(await cache.importJson([bytes as Uint8Array])).toMatchObject({ entries: 0, bytes: 2 })
    await cache.close()
  })

  it('onProgress reports up to the end, and an error that it throws stops the call', async () => {
    const cache = await filled(engine)
    const reported: [number, number][] = []
    const target = new PassThrough().resume()
    await cache.exportJson(target, { onProgress: (done, total) => reported.push([done, total]) })
    const [done, total] = reported.at(-1) ?? []
    expect(total).toBeGreaterThan(1e6)
    expect(done).toBe(total)
    expect(reported.map(([step]) => step)).toEqual(reported.map(([step]) => step).sort((left, right) => left - right))
    const bug = new Error('a bug in the host')
    const call = cache.exportJson(target, {
      onProgress: () => {
        throw bug
      },
    })
    await expect(call).rejects.toBe(bug)
    await cache.close()
  })

  it('an error that onProgress throws at the very end is not swallowed', async () => {
    const cache = await filled(engine)
    const bug = new Error('a bug in the host')
    const onProgress = (done: number, total: number): void => {
      if (total > 0 && done === total) throw bug
    }
    await expect(cache.exportJson(new PassThrough().resume(), { onProgress })).rejects.toBe(bug)
    await cache.close()
  })

  it('close ends the exports and imports of the cache', async () => {
    const cache = await filled(engine)
    const slow = new Writable({ write: (_chunk, _encoding, done) => void setTimeout(done, 5) })
    const call = cache.exportJson(slow)
    await new Promise((resolve) => setTimeout(resolve, 10))
    const [outcome] = await Promise.allSettled([call, cache.close()])
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'CLOSED' } })
  })

  it('close does not wait for a stream that takes nothing, nor for one that gives nothing', async () => {
    for (const transfer of ['exportJson', 'importJson'] as const) {
      const cache = await filled(engine)
      const call = cache[transfer](new PassThrough({ highWaterMark: 1 }))
      await new Promise((resolve) => setTimeout(resolve, 10))
      const [outcome] = await Promise.allSettled([call, cache.close()])
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'CLOSED' } })
    }
  })

  it('a signal that is none of Node.js stops a call with onProgress, too', async () => {
    const cache = await filled(engine)
    const foreign = Object.assign(new EventTarget(), { aborted: false, reason: undefined })
    const call = cache.exportJson(new PassThrough({ highWaterMark: 1 }), {
      signal: foreign as never,
      onProgress: () => undefined,
    })
    setTimeout(() => foreign.dispatchEvent(new Event('abort')), 20)
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    await cache.close()
  })

  it('a wrong stream is refused, as wrong options are', async () => {
    const cache = await filled(engine)
    const wrong = { name: 'VarveError', code: 'INVALID_ARGUMENT' }
    const anything = (value: unknown): never => value as never
    for (const target of [undefined, null, 'cache.json', 3, {}])
      await expect(cache.exportJson(anything(target))).rejects.toMatchObject(wrong)
    for (const source of [undefined, 'cache.json', Buffer.from('{}'), {}]) {
      await expect(cache.importJson(anything(source))).rejects.toMatchObject(wrong)
    }
    await expect(cache.importJson(anything([{ key: 'a' }]))).rejects.toMatchObject(wrong)
    await expect(cache.exportJson(new PassThrough(), anything({ keyOnly: true }))).rejects.toThrow(
      "did you mean 'keysOnly'?",
    )
    await expect(cache.exportJson(new PassThrough(), anything({ format: 'xml' }))).rejects.toThrow("'json' or 'ndjson'")
    const locked = new WritableStream()
    locked.getWriter()
    await expect(cache.exportJson(locked)).rejects.toMatchObject(wrong)
    await cache.close()
  })
})

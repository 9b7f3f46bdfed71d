/** VarveKeyv beyond Keyv's own suite: persistence, expiry and reports. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { VarveKeyv } from '@varve/plugins/keyv'
import { Keyv, type KeyvStoreAdapter } from 'keyv'
import { Keyv as Keyv6 } from 'keyv-6'
import type { VarveError } from 'varve'
import { describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { adapterContract } from '../contract.ts'

const END = fileURLToPath(new URL('end.mjs', import.meta.url))

describe('VarveKeyv', () => {
  adapterContract(fileURLToPath(new URL('program.mjs', import.meta.url)))

  it('VarveKeyv is a Keyv store by its types, and opens the cache on first use', async () => {
    const dir = join(makeFolder(), 'cache')
    const store: Omit<KeyvStoreAdapter, 'setMany'> = new VarveKeyv({ dir })
    expect(existsSync(dir)).toBe(false)
    expect(await store.set('key', 'value')).toBe(true)
    expect(existsSync(dir)).toBe(true)
    await store.disconnect?.()
  })

  it('another handle reads an awaited set without disconnect', async () => {
    const dir = makeFolder()
    const [one, other] = [new VarveKeyv({ dir, engine: 'wasm' }), new VarveKeyv({ dir, engine: 'wasm' })]
    expect(await other.get('key')).toBeUndefined()
    await one.set('key', 'first')
    expect(await other.get('key')).toBe('first')
    await one.set('key', 'second')
    expect(await other.getMany(['key', 'none'])).toEqual(['second', undefined])
    await Promise.all([one.disconnect(), other.disconnect()])
  })

  it('ttl is in milliseconds for get, has, getMany, delete and the iterator', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const store = new VarveKeyv({ dir: makeFolder() })
    await store.setMany([
      { key: 'short', value: 1, ttl: 20 },
      { key: 'long', value: 2, ttl: 60_000 },
      { key: 'ever', value: 3 },
    ])
    expect(await store.hasMany(['short', 'long', 'ever', 'none'])).toEqual([true, true, true, false])
    vi.setSystemTime(Date.now() + 21)
    expect(await store.getMany(['short', 'long', 'ever'])).toEqual([undefined, 2, 3])
    expect(await store.delete('short')).toBe(false)
    const found: unknown[] = []
    for await (const entry of store.iterator()) found.push(entry)
    expect(found.sort()).toEqual([
      ['ever', 3],
      ['long', 2],
    ])
    await store.disconnect()
    vi.useRealTimers()
  })

  /** The time of expiry was beyond the last that is read, so the entry was a miss, while a Map as store has it. */
  it.each([Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, Number.NaN])(
    'an entry with a ttl of %d is not found',
    async (ttl) => {
      const store = new VarveKeyv({ dir: makeFolder() })
      const keyv = new Keyv({ store })
      expect(await keyv.set('key', 'value', ttl)).toBe(true)
      expect(await keyv.get('key')).toBe('value')
      expect(await store.set('own', 'value', ttl)).toBe(true)
      expect([await store.has('own'), await store.delete('own')]).toEqual([true, true])
      await keyv.disconnect()
    },
  )

  /** A text that is cut within an emoji has half of a pair, which UTF-8 cannot hold. */
  it.each(['auto', 'wasm'] as const)(
    'half of a surrogate pair comes back as another character (%s)',
    async (engine) => {
      const store = new VarveKeyv({ dir: makeFolder(), engine })
      const text = 'cut \u{1f600}'.slice(0, -1)
      await store.set('text', text)
      expect(await store.get('text')).toBe(text)
      await store.disconnect()
    },
  )

  /** Each put was added to the entries that the loop goes through. */
  it('a loop over entries that puts one for each never ends in a process without a cache', async () => {
    const store = new VarveKeyv({ dir: makeFolder(), requireSecret: true, onWarning: () => undefined })
    await store.set('key', 'value')
    let rounds = 0
    for await (const [key] of store.iterator()) {
      await store.set(`${key}+`, 'value')
      if (++rounds > 100) break
    }
    expect(rounds).toBe(1)
  })

  /** Each read of an expired entry deleted it at the end of the turn, and with it what another process had set meanwhile. */
  it.each(['get', 'getMany', 'iterator'] as const)(
    'a set is lost if another process reads the expired entry meanwhile (%s)',
    async (call) => {
      vi.useFakeTimers({ toFake: ['Date'] })
      const dir = makeFolder()
      const [writer, reader] = [new VarveKeyv({ dir }), new VarveKeyv({ dir })]
      const read = {
        get: () => reader.get('key'),
        getMany: () => reader.getMany(['key']),
        iterator: () => reader.iterator().next(),
      }
      await writer.set('key', 'old', 20)
      await reader.get('key')
      vi.setSystemTime(Date.now() + 21)
      const isSet = writer.set('key', 'new')
      await read[call]() // in the same turn, so it finds the old entry
      expect(await isSet).toBe(true)
      await reader.disconnect() // commits what it has
      expect(await writer.get('key')).toBe('new')
      await writer.disconnect()
      vi.useRealTimers()
    },
  )

  it('VarveKeyv stores values that Keyv does not serialise, and bytes as bytes', async () => {
    const keyv = new Keyv({ store: new VarveKeyv({ dir: makeFolder() }) })
    Object.assign(keyv, { serialize: undefined, deserialize: undefined })
    const value = { when: new Date(5), map: new Map([['a', new Set([1])]]), bytes: Buffer.from('abc') }
    await keyv.set('key', value)
    expect(await keyv.get('key')).toEqual(value)
    await keyv.disconnect()
    const store = new VarveKeyv({ dir: makeFolder() })
    await store.set('raw', Buffer.from([0, 255]))
    expect(await store.get('raw')).toEqual(Buffer.from([0, 255]))
    await store.disconnect()
  })

  it('the iterators of Keyv 5 and 6 yield the keys of their namespace', async () => {
    const options = (): object => ({ store: new VarveKeyv({ dir: makeFolder() }), namespace: 'a' })
    for (const keyv of [new Keyv(options()), new Keyv6(options())]) {
      await keyv.set('key', 1)
      const found: unknown[] = []
      for await (const entry of keyv.iterator?.(undefined) ?? []) found.push(entry)
      expect(found).toEqual([['key', 1]])
      await keyv.disconnect()
    }
  })

  it('Keyv 6 reports for each key whether it existed', async () => {
    const keyv = new Keyv6({ store: new VarveKeyv({ dir: makeFolder() }) })
    await keyv.set('there', 1)
    expect(await keyv.delete(['none', 'neither'])).toEqual([false, false])
    expect(await keyv.deleteMany(['there'])).toEqual([true])
    await keyv.disconnect()
  })

  it.each(['native', 'wasm'])(
    '%s: an awaited set survives kill -9; a set that is not awaited survives a normal exit',
    async (engine) => {
      for (const end of ['killed', 'ended']) {
        const dir = makeFolder()
        const program = spawn(process.execPath, [END, dir, engine, end], { stdio: 'inherit' })
        const [code, signal] = await once(program, 'close')
        expect([code, signal]).toEqual(end === 'killed' ? [null, 'SIGKILL'] : [0, null])
        const store = new VarveKeyv({ dir })
        expect(await store.getMany(['1', '200'])).toEqual(['value 1', 'value 200'])
        await store.disconnect()
      }
    },
  )

  it('VarveKeyv can be used again after disconnect', async () => {
    const store = new VarveKeyv({ dir: makeFolder() })
    await store.set('key', 'value')
    await store.disconnect()
    expect(await store.get('key')).toBe('value')
    await store.disconnect()
  })

  it.each(['auto', 'wasm'])(
    'an impossible cache directory (VARVE_ENGINE=%s) is reported and costs misses, not errors',
    async (engine) => {
      vi.stubEnv('VARVE_ENGINE', engine)
      const dir = join(makeFolder(), 'file')
      writeFileSync(dir, 'not a folder')
      const told: VarveError[] = []
      const store = new VarveKeyv({ dir, onWarning: (warning) => told.push(warning) })
      const heard: unknown[] = []
      store.on('error', (error) => heard.push(error))
      expect(await store.set('key', 'value')).toBe(false)
      expect(await store.get('key')).toBe('value') // in memory
      expect(told.length).toBeGreaterThan(0)
      expect(heard).toEqual(told)
      const found: unknown[] = []
      for await (const entry of store.iterator()) found.push(entry)
      expect([found, await store.getMany(['key'])]).toEqual([[['key', 'value']], ['value']])
      expect([await store.delete('key'), await store.has('key')]).toEqual([true, false])
      await store.disconnect()
      vi.unstubAllEnvs()
    },
  )

  it('VarveKeyv with readOnly reads and changes nothing', async () => {
    const dir = makeFolder()
    const writer = new VarveKeyv({ dir })
    await writer.set('key', 'value')
    await writer.disconnect()
    const reader = new VarveKeyv({ dir, readOnly: true })
    expect(await reader.set('other', 'value')).toBe(false)
    expect(await reader.getMany(['key', 'other'])).toEqual(['value', 'value'])
    await reader.disconnect()
    expect(await new VarveKeyv({ dir }).has('other')).toBe(false)
  })

  it('VarveKeyv names a wrong option', () => {
    const make = (options: object) => () => new VarveKeyv(options)
    expect(make({ dri: 'x' })).toThrow("new VarveKeyv() has no option 'dri'; did you mean 'dir'?")
    expect(make({ maxByte: 1 })).toThrow("did you mean 'maxBytes'?")
    expect(make({ engine: 'rust' })).toThrow("option 'engine' is 'rust'; expected 'auto' or 'native' or 'wasm'")
  })
})

/** The worked example of FORMAT.md is what the engine writes, byte by byte. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { afterEach, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'

/** What the system's random number is in the example. */
const ID = 0x1122334455667788n

const FORMAT = readFileSync(new URL('../../crates/core/FORMAT.md', import.meta.url), 'utf8')

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Rows of hexadecimal bytes in the example, by file: their offset and their values. */
function rowsOf(file: string): { offset: number; bytes: Buffer }[] {
  const example = FORMAT.slice(FORMAT.indexOf('## An example'))
  const start = example.indexOf(`\n${file}\n`) + file.length + 2
  const block = example.slice(start).split(/\n(?:```|\d+-\d+\.table|manifest-\d+)\n/, 1)[0] ?? ''
  return block.split('\n').flatMap((line) => {
    const [, offset, bytes] = /^([0-9a-f]{4}) ((?:[0-9a-f]{2} ?)+)/.exec(line) ?? []
    if (offset === undefined || bytes === undefined) return []
    return [{ offset: Number.parseInt(offset, 16), bytes: Buffer.from(bytes.replaceAll(' ', ''), 'hex') }]
  })
}

function compare(folder: string, file: string): void {
  const written = readFileSync(join(folder, 'v1', file))
  const rows = rowsOf(file)
  expect(rows.length, `rows of ${file}`).toBeGreaterThan(4)
  for (const { offset, bytes } of rows) {
    expect(written.subarray(offset, offset + bytes.length).toString('hex'), `${file} at ${offset}`).toBe(
      bytes.toString('hex'),
    )
  }
}

it('the example of FORMAT.md shows the bytes that the engine writes', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 })
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) =>
    array instanceof BigUint64Array ? array.fill(ID) : array,
  )
  const folder = makeFolder()
  const cache = await openCache({ name: 'example', dir: folder, engine: 'wasm' })
  cache.namespace('a', { version: '1' }).put('k', Buffer.from('hello'))
  await cache.commit()
  compare(folder, '0.log')
  await cache.compact({ full: true })
  compare(folder, '1-1.table')
  compare(folder, 'manifest-2')
  await cache.close()
})

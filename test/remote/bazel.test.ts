/** Messages that a server for Bazel stores and may change: what a reader accepts. */
import { createServer } from 'node:http'
import { bazel } from '@varve/remote'
import { describe, expect, it } from 'vitest'
import type * as actionResult from '../../packages/remote/src/stores/build-caches.ts'
import { randomOf, runSeed } from '../random.ts'

const PATH = new URL('../../packages/remote/src/stores/build-caches.ts', import.meta.url).href
const { decodeActionResult, encodeActionResult }: typeof actionResult = await import(PATH)
const SEED = runSeed('ActionResult')

describe('an ActionResult', () => {
  it('has the bytes that were written, also between fields that a server adds', () => {
    const below = randomOf(SEED)
    for (const size of [0, 1, 127, 128, 300, 16_384, 70_000]) {
      const bytes = new Uint8Array(size).map(() => below(256))
      const message = encodeActionResult(bytes)
      // Field 9 with bytes, field 15 with a number, field 16 with 4 bytes and field 17 with 8.
      const added = [0x4a, 3, 1, 2, 3, 0x78, 0xff, 1, 0x85, 1, 1, 2, 3, 4, 0x89, 1, 1, 2, 3, 4, 5, 6, 7, 8]
      for (const each of [message, [...added, ...message], [...message, ...added]]) {
        expect(
          Buffer.from(decodeActionResult(Uint8Array.from(each)) ?? [1]).equals(bytes),
          `seed ${SEED}, size ${size}`,
        ).toBe(true)
      }
    }
  })

  it('that is cut or has random bytes is refused or has fewer bytes than the message, and never fails', () => {
    const below = randomOf(SEED)
    const message = encodeActionResult(new Uint8Array(100))
    for (let end = 3; end < message.length; end++)
      expect(decodeActionResult(message.subarray(0, end)), `cut at ${end}`).toBeUndefined()
    for (let round = 0; round < 5000; round++) {
      const random = new Uint8Array(below(40)).map(() => below(256))
      const found = decodeActionResult(random)
      expect((found?.length ?? 0) <= random.length, `seed ${SEED}`).toBe(true)
    }
  })

  it('that a server does not return is REMOTE_UNTRUSTED, and its text is in no message', async () => {
    const server = createServer((_, response) => void response.end('<html>a page of a proxy</html>'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const store = bazel({
      url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    })
    await expect(store.get('v1/trusted/main/head')).rejects.toMatchObject({
      code: 'REMOTE_UNTRUSTED',
      message: expect.not.stringContaining('proxy'),
    })
    server.closeAllConnections()
    server.close()
  })
})

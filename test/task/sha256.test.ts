/** SHA-256 for hosts without node:crypto, compared with that of Node.js. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import type * as module from '../../packages/varve/src/inputs/digest.ts'
import { noise } from '../safety/random.mjs'

const { sha256 }: typeof module = await import(
  new URL('../../packages/varve/src/inputs/digest.ts', import.meta.url).href
)

it('digests without node:crypto are those of node:crypto, for every length around the size of a block', () => {
  for (const length of [...Array(300).keys(), 65_536, 1_000_003]) {
    const data = noise(length, length)
    expect(sha256(data), `${length} bytes`).toBe(createHash('sha256').update(data).digest('base64url'))
  }
})

/** The suites of remotes once more, with WebAssembly: `VARVE_ENGINE` has precedence over what they choose. */
import { openCache } from 'varve'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'

beforeAll(() => void vi.stubEnv('VARVE_ENGINE', 'wasm'))
afterAll(() => void vi.unstubAllEnvs())

it('these suites run with WebAssembly', async () => {
  const cache = await openCache({ name: 'tool', dir: makeFolder(), engine: 'native' })
  expect(cache.status().engine).toBe('wasm')
  await cache.close()
})

describe('layers that are revoked, with WebAssembly', async () => void (await import('./revoke.test.ts')))
describe('what is refused, with WebAssembly', slow, async () => void (await import('./refused.test.ts')))
describe('garbage collection, with WebAssembly', slow, async () => void (await import('./gc.test.ts')))
describe('faults, with WebAssembly', slow, async () => void (await import('./faults.test.ts')))

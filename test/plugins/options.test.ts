/**
 * Every plugin throws VarveError for options that it does not have. `key` was the secret of stores and the cache key of build
 * plugins, so each name has advice of its own: a secret must not become a cache key.
 */
import { cachedBabel } from '@varve/plugins/babel'
import { cached as cachedInEsbuild } from '@varve/plugins/esbuild'
import { VarveKeyv } from '@varve/plugins/keyv'
import { VarveMetroStore } from '@varve/plugins/metro'
import { VarveParcelCache } from '@varve/plugins/parcel'
import { cached as cachedInRolldown } from '@varve/plugins/rolldown'
import { cached as cachedInRollup } from '@varve/plugins/rollup'
import { VarveRspackPlugin } from '@varve/plugins/rspack'
import { varveDriver } from '@varve/plugins/unstorage'
import { cached as cachedInVite, varve } from '@varve/plugins/vite'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { openCache, VarveError } from 'varve'
import { expect, it } from 'vitest'

type Make = (options: object) => unknown

const plugin = { name: 'own', load: () => null }
const BUILD: Readonly<Record<string, Make>> = {
  esbuild: (options) => cachedInEsbuild({ name: 'own', setup: () => undefined }, options),
  rolldown: (options) => cachedInRolldown({ ...plugin }, options),
  rollup: (options) => cachedInRollup({ ...plugin }, options),
  rspack: (options) => new VarveRspackPlugin(options),
  vite: (options) => cachedInVite({ ...plugin }, options),
  'vite by name': (options) => varve({ plugins: [], ...options }),
}
const STORES: Readonly<Record<string, Make>> = {
  keyv: (options) => new VarveKeyv(options),
  metro: (options) => new VarveMetroStore(options),
  unstorage: (options) => varveDriver(options),
  webpack: (options) => new VarveWebpackPlugin(options),
}

/** The message of the VarveError that `make` throws. */
function refusalOf(make: Make, options: object): string {
  try {
    make(options)
  } catch (error) {
    if (error instanceof VarveError && error.code === 'INVALID_OPTION') return error.message
    throw error
  }
  return 'accepted'
}

const SECRET = 'a secret of thirty-two characters'

it.each(Object.entries(BUILD))(
  '%s refuses a key and a secret with advice that names cacheKey and VARVE_SECRET',
  (_, make) => {
    expect(refusalOf(make, { key: SECRET })).toMatch(/has no option 'key'; did you mean 'cacheKey'\?.*VARVE_SECRET/)
    expect(refusalOf(make, { secret: SECRET })).toMatch(/has no option 'secret'; set a secret as VARVE_SECRET/)
    expect(refusalOf(make, { readonly: true })).toContain("did you mean 'readOnly'?")
    expect(refusalOf(make, { engine: 'memory' })).toContain("option 'engine' is 'memory'")
    expect(refusalOf(make, { cacheKey: 1, readOnly: true })).toBe('accepted')
  },
)

it.each(Object.entries(STORES))('%s refuses a key with advice that names secret', (_, make) => {
  expect(refusalOf(make, { key: SECRET })).toContain("has no option 'key'; did you mean 'secret'?")
  expect(refusalOf(make, { readonly: true })).toContain("did you mean 'readOnly'?")
  expect(refusalOf(make, { cacheKey: 1 })).toContain("has no option 'cacheKey'")
  expect(refusalOf(make, { secret: SECRET, readOnly: true })).toBe('accepted')
})

it('Parcel refuses a key and a secret, which it would send to its workers', () => {
  for (const name of ['key', 'secret']) {
    expect(refusalOf((options) => new VarveParcelCache(options), { [name]: SECRET })).toContain(
      'set a secret as VARVE_SECRET',
    )
  }
})

it('openCache refuses options of 0.1 and contradictions of inMemory', async () => {
  const refusal = async (options: object): Promise<string> => {
    try {
      await Reflect.apply(openCache, undefined, [{ name: 'options', ...options }])
    } catch (error) {
      if (error instanceof VarveError && error.code === 'INVALID_OPTION') return error.message
    }
    return 'accepted'
  }
  expect(await refusal({ key: SECRET })).toMatch(/has no option 'key'; .*secret/)
  expect(await refusal({ engine: 'memory' })).toContain("option 'engine' is 'memory'")
  expect(await refusal({ inMemory: true, dir: 'cache' })).toContain("either 'inMemory: true' or 'dir'")
  expect(await refusal({ inMemory: true, engine: 'native' })).toContain("either 'inMemory: true' or 'engine'")
  expect(await refusal({ inMemory: true, engine: 'wasm', secret: SECRET })).toBe('accepted')
})

it.each([
  ['esbuild', cachedInEsbuild],
  ['rolldown', cachedInRolldown],
  ['rollup', cachedInRollup],
  ['vite', cachedInVite],
])('cached() of %s takes one plugin, and names what it got instead', (_, cached) => {
  const refusal = (given: unknown): string => {
    try {
      Reflect.apply(cached, undefined, [given, { cacheKey: 1 }])
    } catch (error) {
      if (error instanceof VarveError && error.code === 'INVALID_ARGUMENT') return error.message
      throw error
    }
    return 'accepted'
  }
  expect(refusal([plugin, plugin])).toBe('cached() takes one plugin, not an array of plugins; wrap those that are slow')
  expect(refusal(Promise.resolve(plugin))).toContain('not a promise; await it first')
  expect(refusal({ load: () => null })).toContain('not an object without a name')
  expect(refusal(undefined)).toContain('not undefined')
})

it('cachedBabel() without Babel names what it takes', async () => {
  const failing = Reflect.apply(cachedBabel, undefined, [{ dir: 'cache' }])
  await expect(failing).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining("'@babel/core'"),
  })
})

/** rollup-plugin-import-css and esbuild-svelte write their defaults into the object that is also the key. */
it('a plugin that completes its options fails the build without a word about a copy', () => {
  const options: Record<string, unknown> = { output: 'out.css' }
  const completing = (given: Record<string, unknown>): { name: string; transform: () => null } => {
    given['transform'] ??= (code: string) => code
    return { name: 'completing', transform: () => null }
  }
  expect(() => cachedInRollup(completing(options), { cacheKey: options })).toThrow(
    'cacheKey.transform cannot be compared (function); pass a name or a version instead. If the plugin has added it to its options, give it a copy: plugin({ ...options })',
  )
  const own = { output: 'out.css' }
  expect(() => cachedInRollup(completing({ ...own }), { cacheKey: own })).not.toThrow()
})

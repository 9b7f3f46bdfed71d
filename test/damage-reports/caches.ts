/** Writes caches and damages them. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import type { EngineName } from '../engines.ts'
import { makeFolder } from '../folders.ts'

/** Entries of `makeCache` that are in its table; each value is 300 bytes and differs from the others. */
export const COUNT = 600

export const keyOf = (number: number): string => `key ${number}`
export const valueOf = (number: number): string => `${number} `.padEnd(300, `${(number * 7919) % 1000}, `)

/** A closed cache: one table of several blocks of keys and values, and a log with one entry, `later`. */
export async function makeCache(engine: EngineName): Promise<string> {
  const dir = join(makeFolder(), 'cache')
  const cache = await openCache({ name: 'damage', dir, engine })
  const space = cache.namespace('n', { codec: 'text' })
  for (let number = 0; number < COUNT; number++) space.put(keyOf(number), valueOf(number))
  await cache.commit()
  await cache.compact({ full: true })
  space.put('later', 'value')
  await cache.commit()
  await cache.close()
  return dir
}

/** The one file of the cache whose name ends so. */
export function fileOf(dir: string, ending: string): string {
  const found = readdirSync(join(dir, 'v1')).find((name) => name.endsWith(ending) || name.startsWith(ending))
  if (found === undefined) throw new Error(`no ${ending} in ${dir}`)
  return join(dir, 'v1', found)
}

/** Changes one byte; a negative `at` counts from the end. */
export function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  const index = at < 0 ? bytes.length + at : at
  bytes[index] = (bytes[index] ?? 0) ^ 0x10
  writeFileSync(path, bytes)
}

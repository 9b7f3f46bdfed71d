/** What engines answer about keys that are paths: sums by folder, and the entries of some folders. JavaScript computes both from all keys. */
import { join } from 'node:path'
import { openCache } from 'varve'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type * as entries from '../../packages/varve/src/cli/open/entries.ts'
import type * as folder from '../../packages/varve/src/cli/open/folder.ts'
import type * as chosen from '../../packages/varve/src/cli/view/contents.ts'
import type * as place from '../../packages/varve/src/cli/view/tree.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'

const of = (name: string): string => new URL(`../../packages/varve/src/cli/${name}.ts`, import.meta.url).href
const { entriesOf, foldersOf, keysOf, namespacesOf }: typeof entries = await import(of('open/entries'))
const { inspect }: typeof folder = await import(of('open/folder'))
const { Folders }: typeof chosen = await import(of('view/contents'))
const { folderOf }: typeof place = await import(of('view/tree'))

type Key = string | Uint8Array

/** Keys whose folder could be taken for another one. */
const KEYS: readonly Key[] = [
  '',
  'a',
  '/',
  '/a',
  'src/',
  'src/a.js',
  'src/b.js\0digest',
  'src/a.js?raw=/x/y',
  '?src/a.js',
  'src//a.js',
  '\0src/a.js',
  'src\\a.js',
  String.raw`C:\p/src\a.js`,
  'src/ä/日本.ts',
  '😀/a',
  'src/\ud83d',
  '\ud83d/a',
  '\ufffd/a',
  new Uint8Array([0x61, 0x2f, 0xff]),
  new Uint8Array([0xff, 0x2f, 0x61]),
  `${'x/'.repeat(32_767)}y`,
]

const folderOfKey = (key: Key): string => (typeof key === 'string' ? folderOf(key) : '')

describe.each(ENGINES)('folders of keys on %s', (engine) => {
  beforeEach(() => void (process.env['VARVE_ENGINE'] = engine))
  afterEach(() => void delete process.env['VARVE_ENGINE'])

  async function makeCache(): Promise<string> {
    const dir = join(makeFolder(), 'cache')
    const cache = await openCache({ name: 'folders', dir })
    const namespace = cache.namespace('n')
    KEYS.forEach((key, index) => namespace.put(key, new Uint8Array(index)))
    // More than one page, and values that are not next to their keys.
    for (let index = 0; index < 60_000; index++)
      namespace.put(`many/${index % 7}/folders/${'long'.repeat(20)}-${index}`, new Uint8Array(index % 90))
    await cache.commit()
    for (let index = 0; index < 100; index++) namespace.delete(`many/0/folders/${'long'.repeat(20)}-${7 * index}`)
    await cache.close()
    return dir
  }

  it('the sums of all folders are those over all keys', async () => {
    await inspect(await makeCache(), async ({ session }) => {
      const [expected, found] = [new Map<string, [number, number]>(), new Map<string, [number, number]>()]
      const add = (to: typeof found, name: string, count: number, size: number): void => {
        const [entries, bytes] = to.get(name) ?? [0, 0]
        to.set(name, [entries + count, bytes + size])
      }
      for (const namespace of await namespacesOf(session, undefined)) {
        for (const { key, keyBytes, valueBytes } of keysOf(session, [namespace]))
          add(expected, folderOfKey(key), 1, keyBytes + valueBytes)
        for (const { folder: name, entries: count, bytes } of foldersOf(session, namespace))
          add(found, name, count, bytes)
      }
      expect(found).toEqual(expected)
      expect([found.get('many/0/folders/')?.[0], found.get('src/')?.[0], found.get('src/ä/')?.[0]]).toEqual([
        8472, 4, 1,
      ])
    })
  })

  it('a scan of some folders has all of their entries and no others', async () => {
    await inspect(await makeCache(), async ({ session }) => {
      const folders = new Folders()
      for (const key of [...KEYS, 'many/3/folders/x', 'absent/x']) folders.add(folderOfKey(key))
      for (const isListed of [
        (name: string) => name === '',
        (name: string) => name.startsWith('src'),
        (name: string) => name !== 'src/',
      ]) {
        const [namespaces, listed] = [await namespacesOf(session, 'n'), folders.chosen(isListed)]
        const isExpected = ({ key }: { readonly key: Key }): boolean =>
          isListed(folderOfKey(key)) && !/^many\/[^3]/.test(String(key))
        const keys = [...keysOf(session, namespaces)].filter(isExpected)
        expect(keys.length).toBeGreaterThan(1)
        expect([...keysOf(session, namespaces, listed)]).toEqual(keys)
        const read = [...entriesOf(session, namespaces, listed)].map(({ key, value }) => [key, value.length])
        expect(read).toEqual(keys.map(({ key, valueBytes }) => [key, valueBytes]))
      }
    })
  })
})

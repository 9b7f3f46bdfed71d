/** What a key that a reader trusts can make it read: a build with a small heap gets a miss and one warning, whatever a manifest leads to. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import type * as keys from '../../packages/remote/src/manifest.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { KEYS } from './machines.ts'

const internal = (file: string): string => new URL(`../../packages/remote/src/${file}.ts`, import.meta.url).href
const { readSigningKey }: typeof keys = await import(internal('manifest'))
const { sign } = await import('node:crypto')

const HEAD = 'v1/trusted/main/head'
const DIST = fileURLToPath(new URL('../../packages/varve/dist/bundle/index.js', import.meta.url))

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The bytes of a head with any content, signed. */
function signed(content: string): Buffer {
  const { id, secret } = readSigningKey('', KEYS.signingKey)
  const header = Buffer.concat([Buffer.from('VARVERM1'), Buffer.from(id, 'hex')])
  return Buffer.concat([
    header,
    sign(null, Buffer.concat([header, Buffer.from(content)]), secret),
    Buffer.from(content),
  ])
}

/** A directory store with these objects. */
function storeWith(objects: Readonly<Record<string, Uint8Array>>): string {
  const store = join(makeFolder(), 'store')
  for (const [name, bytes] of Object.entries(objects)) {
    mkdirSync(dirname(join(store, name)), { recursive: true })
    writeFileSync(join(store, name), bytes)
  }
  return store
}

/** A store whose head names a layer for each of these descriptions. */
function storeOf(descriptions: readonly Buffer[], bytes: number): string {
  const layers = descriptions.map((description) => ({
    cache: 'tool',
    sha256: digestOf(description),
    descriptionBytes: description.length,
    bytes,
    first: [],
    entries: 1,
    deletes: 0,
  }))
  const head = { version: 1, name: HEAD, commit: '', generation: 1, createdAt: 1, layers }
  const named = descriptions.map((description) => [`v1/trusted/layer/${digestOf(description)}`, description])
  return storeWith({ [HEAD]: signed(JSON.stringify(head)), ...Object.fromEntries(named) })
}

const MIB = 1 << 20
const filled = (begin: string, unit: string, bytes: number): Buffer =>
  Buffer.from(begin + unit.repeat(Math.floor(bytes / unit.length)))

/** Files of no bytes, by path. */
const emptyFiles = (count: number): Buffer => {
  const lines = Array.from({ length: count }, (_, index) => `0 v1/1-${1_000_000_000 + index}.table`)
  return Buffer.from(['varve-layer 1 8388608', ...lines, '', digestOf(Buffer.from('')), ''].join('\n'))
}

const BOMBS: Readonly<Record<string, () => string>> = {
  'descriptions of empty objects': () =>
    storeOf(
      [1, 2, 3].map((index) => filled(`{"version":1,"x":${index},"files":[`, '{},', 20 * MIB)),
      5,
    ),
  'more bytes of descriptions than one may have': () =>
    storeOf(
      [1, 2, 3, 4].map((index) => filled(`varve-layer 1 8388608\n${index} v1/`, 'x', 20 * MIB)),
      5,
    ),
  'more files than one fetch may have': () => storeOf([emptyFiles(1_100_000)], 0),
  'a file of a terabyte in small chunks': () =>
    storeOf([Buffer.from(`varve-layer 1 65536\n${2 ** 35} v1/1-1.table\n\n${'a'.repeat(64)}\n`)], 2 ** 35),
  'a manifest of empty arrays': () =>
    storeWith({ [HEAD]: signed(`{"version":1,"layers":[${'[],'.repeat((4 * MIB - 500) / 3)}[]]}`) }),
  'a manifest that is nested': () => storeWith({ [HEAD]: signed('['.repeat(4 * MIB - 500)) }),
}

describe.each(ENGINES)('%s', (engine) => {
  it.each(Object.entries(BOMBS))('%s end in one warning, within a heap of 160 MB', (_, make) => {
    const code = `
      import { openCache } from ${JSON.stringify(pathToFileURL(DIST).href)}
      const cache = await openCache({ name: 'tool', dir: 'cache/tool', engine: '${engine}', onWarning: ({ code }) => console.log(code) })
      console.log(cache.namespace('n', { codec: 'text' }).get('a'))
      await cache.close()`
    const { status, signal, stdout, stderr } = spawnSync(
      process.execPath,
      ['--max-old-space-size=160', '--input-type=module', '--eval', code],
      {
        cwd: makeFolder(),
        encoding: 'utf8',
        env: {
          ...process.env,
          VARVE_ENGINE: '',
          VARVE_REMOTE: pathToFileURL(make()).href,
          VARVE_TRUSTED_KEYS: KEYS.publicKey,
        },
      },
    )
    expect([status, signal, stdout, stderr]).toEqual([0, null, 'REMOTE_UNTRUSTED\nundefined\n', ''])
  })
})

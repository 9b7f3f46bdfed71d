/** The address of a remote leads nowhere: a directory that does not exist was an empty remote, for builds and for `remote doctor`. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BlobStore, directory, remoteDoctor, webdav } from '@varve/remote'
import { openCache } from 'varve'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { HttpServer } from './http.ts'
import { KEYS, Machine } from './machines.ts'

const server = new HttpServer()
beforeAll(() => server.start())
afterAll(() => server.stop())

/** The warnings of a build with this store. */
async function warningsOf(
  store: BlobStore,
  { writes = false, engine = 'native' }: { writes?: boolean; engine?: (typeof ENGINES)[number] } = {},
): Promise<readonly string[]> {
  const machine = new Machine(store, engine)
  const warnings: string[] = []
  const cache = await openCache({
    name: 'tool',
    engine,
    dir: machine.dir,
    remote: writes ? machine.writer() : machine.remote(),
    onWarning: ({ code, message }) => warnings.push(`${code}: ${message}`),
  })
  cache.namespace('n', { codec: 'text' }).put('a', 'value'.repeat(10_000))
  await cache.close()
  return warnings
}

const doctor = (environment: Readonly<Record<string, string>>): ReturnType<typeof remoteDoctor> =>
  remoteDoctor({ VARVE_TRUSTED_KEYS: KEYS.publicKey, ...environment }, { dir: join(makeFolder(), 'layers') })

const WRITES = { VARVE_REMOTE_MODE: 'read-write', VARVE_SIGNING_KEY: KEYS.signingKey }

describe('a directory that does not exist', () => {
  const newPath = (): string => join(makeFolder(), 'nowhere')

  it.each(ENGINES)('is named by a build that reads, until a build has published: %s', async (engine) => {
    const path = newPath()
    const [warning, ...others] = await warningsOf(directory(path), { engine })
    expect([warning, others]).toEqual([expect.stringContaining(`directory '${path}' does not exist`), []])
    expect(warning).toMatch(/^REMOTE_UNAVAILABLE: .*Correct VARVE_REMOTE, or create it/)
    expect(await warningsOf(directory(path), { writes: true, engine })).toEqual([])
    expect(await warningsOf(directory(path), { engine })).toEqual([])
  })

  it('is named by the doctor, with advice for a reader and a note for a writer', async () => {
    const path = newPath()
    const address = { VARVE_REMOTE: pathToFileURL(path).href }
    const { ok, findings } = await doctor(address)
    expect([ok, findings.find(({ what }) => what === 'connection')]).toEqual([
      false,
      { what: 'connection', found: 'REMOTE_UNAVAILABLE', advice: expect.stringContaining('does not exist') },
    ])
    const writer = await doctor({ ...address, ...WRITES })
    expect([writer.ok, writer.findings.find(({ what }) => what === 'place')?.note]).toEqual([
      true,
      expect.stringContaining('does not exist'),
    ])
  })

  it('which exists and is empty is no problem', async () => {
    const path = newPath()
    mkdirSync(path)
    expect(await warningsOf(directory(path))).toEqual([])
    expect((await doctor({ VARVE_REMOTE: pathToFileURL(path).href })).ok).toBe(true)
  })
})

/** A WebDAV server whose directory answers with these statuses. */
function answerWith(statuses: Readonly<Record<string, number>>): void {
  server.answer = ({ method = '', url }, response) => {
    const isDirectory = url?.endsWith('/') === true
    response.writeHead((isDirectory ? statuses[method] : undefined) ?? (method === 'PUT' ? 409 : 404)).end()
  }
}

describe('a directory of WebDAV that does not exist', () => {
  it('is named by a build that reads', async () => {
    answerWith({})
    const [warning, ...others] = await warningsOf(webdav({ url: `${server.url}/nowhere` }))
    expect([warning, others]).toEqual([expect.stringMatching(/REMOTE_UNAVAILABLE: .*\/nowhere does not exist/), []])
    const { ok, findings } = await doctor({ VARVE_REMOTE: `${server.url}/nowhere` })
    expect([ok, findings.find(({ what }) => what === 'connection')?.advice]).toEqual([
      false,
      expect.stringContaining('/nowhere does not exist'),
    ])
  })

  it('is named by a build that publishes, when it cannot make the directories below', async () => {
    answerWith({ MKCOL: 409 })
    const store = webdav({ url: `${server.url}/nowhere`, conditional: true })
    expect((await warningsOf(store, { writes: true })).join()).toMatch(/\/nowhere does not exist\. Create it/)
  })

  it.each([
    ['PROPFIND', { PROPFIND: 207 }],
    ['HEAD, which is forbidden', { HEAD: 403 }],
    ['HEAD', { HEAD: 200 }],
    ['no PROPFIND', { PROPFIND: 405 }],
  ])('one that exists and is empty is no problem: %s', async (_, statuses) => {
    answerWith(statuses)
    expect(await warningsOf(webdav({ url: `${server.url}/team` }))).toEqual([])
  })
})

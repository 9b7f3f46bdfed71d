/** `varve remote doctor`: each problem is a finding with advice, and no output has a secret. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { directory, generateKeys, remoteDoctor, type RemoteDoctorReport, type RemoteFinding } from '@varve/remote'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'
import { blobsOf, HttpServer } from './http.ts'
import { KEYS, Machine, MemoryStore, namesOf } from './machines.ts'
import { CREDENTIALS, type Started, startS3 } from './servers.ts'

const server = new HttpServer()
beforeAll(() => server.start())
afterAll(() => server.stop())

const SECRETS = {
  VARVE_SIGNING_KEY: KEYS.signingKey,
  AWS_SECRET_ACCESS_KEY: 'THE-SECRET-KEY',
  AWS_SESSION_TOKEN: 'THE-SESSION',
  VARVE_REMOTE_TOKEN: 'THE-TOKEN',
  VARVE_REMOTE_PASSWORD: 'THE-PASSWORD',
}

function checked(environment: Record<string, string>, offline: boolean = false): Promise<RemoteDoctorReport> {
  const all = { VARVE_REMOTE: server.url, VARVE_TRUSTED_KEYS: KEYS.publicKey, ...environment }
  return remoteDoctor(all, { dir: join(makeFolder(), 'layers'), budgetMs: 20_000, offline })
}

const findingsOf = ({ findings }: RemoteDoctorReport, what: string): RemoteFinding[] =>
  findings.filter((finding) => finding.what === what)

/** A directory that has a publication, as an address. */
async function published(): Promise<string> {
  const folder = join(makeFolder(), 'store')
  await (await new Machine(directory(folder)).put({ a: '1' })).push()
  return folder
}

describe('the variables', () => {
  it.each([
    ['no remote', { VARVE_REMOTE: '' }, "set VARVE_REMOTE to 's3://"],
    ['no trusted keys', { VARVE_TRUSTED_KEYS: '' }, 'VARVE_TRUSTED_KEYS'],
    ['a key that is none', { VARVE_TRUSTED_KEYS: 'THE-SECRET' }, 'varve-public-1'],
    ['an address with credentials', { VARVE_REMOTE: 'https://user:THE-SECRET@example.com/' }, 'credentials'],
    ['plain http to another machine', { VARVE_REMOTE: 'http://example.com/' }, 'plain http'],
    ['a mode that is none', { VARVE_REMOTE_MODE: 'write' }, 'VARVE_REMOTE_MODE'],
    ['writing without a key', { VARVE_REMOTE_MODE: 'read-write' }, 'VARVE_SIGNING_KEY'],
    [
      'S3 without credentials',
      { VARVE_REMOTE: 's3://bucket/x?endpoint=http://127.0.0.1:1', AWS_ACCESS_KEY_ID: 'key' },
      'secretAccessKey',
    ],
    ['a misspelled variable', { VARVE_TRUSTED_KEY: 'THE-SECRET' }, 'VARVE_TRUSTED_KEYS'],
    [
      'a signing key that readers do not trust',
      { VARVE_SIGNING_KEY: generateKeys().signingKey },
      'not in VARVE_TRUSTED_KEYS',
    ],
  ])('%s is a finding with advice, without the value', async (_, environment, advice) => {
    const report = await checked({ ...environment }, true)
    expect([report.ok, report.findings.some((finding) => finding.advice?.includes(advice))]).toEqual([false, true])
    expect(JSON.stringify(report)).not.toContain('THE-SECRET')
  })

  it('offline asks no store, and off is no problem', async () => {
    server.requests = 0
    server.answer = (_, response) => void response.writeHead(404).end()
    const connections = findingsOf(await checked({ VARVE_OFFLINE: '1' }, true), 'connections')
    expect(connections).toMatchObject([{ found: expect.stringContaining('VARVE_OFFLINE') }])
    const { ok, findings } = await checked({ VARVE_REMOTE_MODE: 'off' })
    expect([ok, findings.map(({ found }) => found), server.requests]).toEqual([
      true,
      expect.arrayContaining(['off']),
      0,
    ])
  })
})

describe('the store', () => {
  it('a reader gets the state of its scopes, and writes nothing', async () => {
    const folder = await published()
    const before = await namesOf(directory(folder))
    const report = await checked({ VARVE_REMOTE: pathToFileURL(folder).href })
    const scope = { what: 'scope', found: expect.stringMatching(/^trusted\/main: generation 1, 1 layers/) }
    expect([report.ok, findingsOf(report, 'scope')]).toEqual([true, [scope]])
    expect([findingsOf(report, 'writing'), await namesOf(directory(folder))]).toEqual([[], before])
    expect(findingsOf(report, 'round trip')).toHaveLength(1)
  })

  it('a writer probes with an object that it removes', async () => {
    const folder = await published()
    const before = await namesOf(directory(folder))
    const writing = {
      VARVE_REMOTE: pathToFileURL(folder).href,
      VARVE_REMOTE_MODE: 'read-write',
      VARVE_SIGNING_KEY: KEYS.signingKey,
    }
    const report = await checked(writing)
    expect(findingsOf(report, 'writing')).toEqual([
      { what: 'writing', found: expect.stringContaining('written, read and removed') },
    ])
    expect([report.ok, await namesOf(directory(folder))]).toEqual([true, before])
  })

  it.each([
    ['is down', undefined, 'connection', 'ECONNREFUSED'],
    ['refuses the credentials', 403, 'connection', 'check the credentials'],
    ['answers 500', 500, 'connection', 'status 500'],
  ])('a server that %s is a finding with the cause', async (_, status, what, advice) => {
    const faulty = await new HttpServer().start()
    faulty.answer = (__, response) => void response.writeHead(status ?? 200).end()
    if (status === undefined) faulty.stop()
    const report = await checked({ VARVE_REMOTE: faulty.url })
    if (status !== undefined) faulty.stop()
    expect([report.ok, findingsOf(report, what)]).toEqual([
      false,
      [expect.objectContaining({ advice: expect.stringContaining(advice) })],
    ])
  })

  it('a head of another key is a finding, and so is a clock that differs', async () => {
    const store = new MemoryStore()
    await (await new Machine(store).put({ a: '1' })).push()
    server.answer = (request, response) => {
      response.setHeader('date', new Date(Date.now() - 600_000).toUTCString())
      blobsOf(store)(request, response)
    }
    const report = await checked({ VARVE_TRUSTED_KEYS: generateKeys().publicKey })
    expect(findingsOf(report, 'connection')).toEqual([expect.objectContaining({ found: 'REMOTE_UNTRUSTED' })])
    const [clock] = findingsOf(report, 'clock of the server')
    expect([clock?.found, clock?.advice]).toEqual([
      expect.stringMatching(/^\d+ s behind this machine$/),
      expect.stringContaining('set the clock'),
    ])
  })
})

describe('the command', () => {
  let started: Started | undefined
  beforeAll(async () => {
    started = await startS3?.()
  })
  afterAll(async () => started?.stop())

  it('S3 with a signing key is fine, and no output has a secret, whether or not the store accepts the credentials', async ({
    skip,
  }) => {
    skip(started === undefined, "versitygw is not built: 'npm run setup -- --servers'")
    const { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY } = CREDENTIALS
    const keys = {
      ...SECRETS,
      VARVE_TRUSTED_KEYS: KEYS.publicKey,
      VARVE_REMOTE_MODE: 'read-write',
      AWS_ACCESS_KEY_ID,
      AWS_SESSION_TOKEN: '',
    }
    const env = { ...keys, VARVE_REMOTE: started?.address ?? '', VARVE_OFFLINE: '' }
    for (const [right, expected] of [
      [true, 0],
      [false, 1],
    ] as const) {
      const credentials = right ? { AWS_SECRET_ACCESS_KEY } : {}
      const options = { cwd: makeFolder(), env: { ...env, ...credentials } }
      const [text, json] = [runVarve(['remote', 'doctor'], options), runVarve(['remote', 'doctor', '--json'], options)]
      const printed = [text.out, text.err, json.out, json.err].join('\n')
      expect([text.status, json.status, JSON.parse(json.out).ok], printed).toEqual([expected, expected, right])
      for (const secret of [...Object.values(SECRETS), AWS_SECRET_ACCESS_KEY]) expect(printed).not.toContain(secret)
      expect(printed).toContain(right ? 'written, read and removed' : 'SignatureDoesNotMatch')
    }
  })
})

/** Each adapter of `@varve/remote` passes the contract of stores against its real server. */
import { bazel, directory, githubActions, openRemote, redis, s3, turbo, webdav } from '@varve/remote'
import { describe, expect, it } from 'vitest'
import { contract } from './contract.ts'
import { HttpServer } from './http.ts'
import { reportMissing, STORES } from './servers.ts'

for (const { name, start } of STORES) if (start !== undefined) contract(name, start)

const missing = reportMissing()
it.skipIf(missing.length === 0)('servers that are not installed are reported', ({ skip }) => skip(missing.join('; ')))

describe('options of stores', () => {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'the secret' }

  it('plain http to another machine is refused unless it is spelled out, and loopback is not', () => {
    for (const make of [
      (url: string, allowInsecure?: boolean) => webdav({ url, allowInsecure }),
      (endpoint: string, allowInsecure?: boolean) => s3({ bucket: 'bucket', endpoint, credentials, allowInsecure }),
    ]) {
      expect(() => make('http://example.com/x')).toThrow(/plain http to 'example.com'/)
      expect(() => make('http://127.0.0.1.example.com/')).toThrow(/plain http/)
      for (const url of ['http://127.0.0.1:1/', 'http://localhost:1', 'http://[::1]:1/', 'https://example.com'])
        expect(() => make(url)).not.toThrow()
      expect(() => make('http://example.com/x', true)).not.toThrow()
    }
  })

  it('credentials in an address are refused, and no message repeats them', () => {
    for (const url of ['https://user:hidden@example.com/', 'https://example.com/?token=hidden']) {
      expect(() => webdav({ url })).toThrow(/credentials, a query/)
      expect(() => webdav({ url })).not.toThrow(/hidden/)
    }
  })

  it.each([
    ['requestMs', Number.NaN],
    ['requestMs', 0],
    ['requestMs', Infinity],
    ['requestMs', '5000'],
    ['allowInsecure', 'false'],
    ['allowInsecure', '0'],
  ])('every store behind a server refuses %s: %s', (field, value) => {
    const more = { [field]: value }
    for (const make of [
      () => s3({ bucket: 'bucket', ...more }),
      () => webdav({ url: 'http://example.com', ...more }),
      () => bazel({ url: 'http://example.com', ...more }),
      () => turbo({ url: 'http://example.com', token: 'x', ...more }),
      () => redis({ url: 'redis://example.com', ...more }),
    ]) {
      const message: unknown = expect.stringContaining(`option '${field}'`)
      expect(make).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', message }))
    }
  })

  it('a list of S3 with elements that do not end, and with a character that does not exist, is read in linear time', async () => {
    const server = await new HttpServer().start()
    const item =
      '<Contents><Key>a&#x110000;&#65;</Key><Size>3</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>'
    server.answer = (_, response) => response.end(item + '<Contents>'.repeat(100_000))
    const names = []
    const start = performance.now()
    for await (const { name } of s3({ bucket: 'bucket', endpoint: server.url }).list?.('') ?? []) names.push(name)
    server.stop()
    expect([names, performance.now() - start < 5000]).toEqual([['a&#x110000;A'], true])
  })

  it('a request may take as long as a timer can', async () => {
    const server = await new HttpServer().start()
    server.answer = (_, response) => {
      response.writeHead(200, { 'content-length': 4 }).flushHeaders()
      setTimeout(() => response.end('late'), 50)
    }
    const found = await webdav({ url: server.url, requestMs: 2 ** 31 - 1 }).get('a')
    server.stop()
    expect(Buffer.from(found?.bytes ?? []).toString()).toBe('late')
  })

  it.each([
    ['an unknown option', () => s3({ bucket: 'bucket', credentials, endPoint: '' } as never), /no option 'endPoint'/],
    ['no bucket', () => s3({ bucket: '../other', credentials }), /'bucket'/],
    [
      'a prefix that leaves the bucket',
      () => s3({ bucket: 'bucket', prefix: '../other', credentials }),
      /invalid name/,
    ],
    [
      'no credentials',
      () => s3({ bucket: 'bucket', credentials: { accessKeyId: 'key', secretAccessKey: '' } }),
      /'credentials'/,
    ],
    ['no address', () => webdav({ url: 'example.com' }), /expected an http or https address/],
    ['a password in the address of Redis', () => redis({ url: 'rediss://:hidden@example.com' }), /'credentials'/],
    ['Redis without TLS on another machine', () => redis({ url: 'redis://example.com' }), /no TLS/],
    ['an address of another kind for Redis', () => redis({ url: 'https://example.com' }), /rediss:/],
    ['a prefix of Redis with a pattern', () => redis({ url: 'redis://localhost', prefix: 'a*' }), /'prefix'/],
    ['no token', () => turbo({ url: 'https://example.com', token: '' }), /'token'/],
    [
      'a team that leaves its parameter',
      () => turbo({ url: 'https://example.com', token: 'x', team: 'a&b' }),
      /'team'/,
    ],
    ['plain http to a cache for Bazel', () => bazel({ url: 'http://example.com' }), /plain http/],
    ['no directory', () => directory(''), /directory/],
    ['a prefix that is no string', () => s3({ bucket: 'bucket', prefix: 5 as never }), /'prefix'/],
    ['a region that is no string', () => s3({ bucket: 'bucket', region: 5 as never }), /'region'/],
    ['a prefix of Redis that is no string', () => redis({ url: 'redis://localhost', prefix: 5 as never }), /'prefix'/],
    [
      'a prefix of GitHub Actions that is no string',
      () => githubActions({ url: 'https://example.com', token: 'x', prefix: 5 as never }),
      /'prefix'/,
    ],
    ['no store', () => openRemote({ dir: 'layers', trustedKeys: 'none' } as never), /'store'/],
    [
      'a store that is none',
      () => openRemote({ store: 's3://bucket' as never, dir: 'layers', trustedKeys: 'none' }),
      /'store'/,
    ],
  ])('%s is an error that names the field', (_, make, message) => {
    expect(make).toThrow(message)
  })
})

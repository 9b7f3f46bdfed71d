/** Each adapter of `@varve/remote` passes the contract of stores against its real server. */
import { bazel, directory, redis, s3, turbo, webdav } from '@varve/remote'
import { describe, expect, it } from 'vitest'
import { contract } from './contract.ts'
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
      for (const url of ['http://127.0.0.1:1/', 'http://localhost:1', 'http://[::1]:1/', 'https://example.com']) expect(() => make(url)).not.toThrow()
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
    ['an unknown option', () => s3({ bucket: 'bucket', credentials, endPoint: '' } as never), /no option 'endPoint'/],
    ['no bucket', () => s3({ bucket: '../other', credentials }), /'bucket'/],
    ['a prefix that leaves the bucket', () => s3({ bucket: 'bucket', prefix: '../other', credentials }), /invalid name/],
    ['no credentials', () => s3({ bucket: 'bucket', credentials: { accessKeyId: 'key', secretAccessKey: '' } }), /'credentials'/],
    ['no address', () => webdav({ url: 'example.com' }), /expected an http or https address/],
    ['a password in the address of Redis', () => redis({ url: 'rediss://:hidden@example.com' }), /'credentials'/],
    ['Redis without TLS on another machine', () => redis({ url: 'redis://example.com' }), /no TLS/],
    ['an address of another kind for Redis', () => redis({ url: 'https://example.com' }), /rediss:/],
    ['a prefix of Redis with a pattern', () => redis({ url: 'redis://localhost', prefix: 'a*' }), /'prefix'/],
    ['no token', () => turbo({ url: 'https://example.com', token: '' }), /'token'/],
    ['a team that leaves its parameter', () => turbo({ url: 'https://example.com', token: 'x', team: 'a&b' }), /'team'/],
    ['plain http to a cache for Bazel', () => bazel({ url: 'http://example.com' }), /plain http/],
    ['no directory', () => directory(''), /directory/],
  ])('%s is an error that names the field', (_, make, message) => {
    expect(make).toThrow(message)
  })
})

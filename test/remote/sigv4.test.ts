/**
 * Signatures of requests to S3. `sigv4.ts` follows the specification and gives the signatures of its reference vectors, the examples of
 * Amazon's documentation of SigV4 for S3; each request of the adapter has the signature that it gives.
 */
import { createServer } from 'node:http'
import { s3 } from '@varve/remote'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { authorization, type SeenRequest } from './sigv4.ts'

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const KEY = 'AKIAIOSFODNN7EXAMPLE'
const SECRET = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'

describe('the reference vectors', () => {
  const common = {
    host: 'examplebucket.s3.amazonaws.com',
    'x-amz-date': '20130524T000000Z',
    'x-amz-content-sha256': EMPTY,
  }
  const put = {
    ...common,
    date: 'Fri, 24 May 2013 00:00:00 GMT',
    'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    'x-amz-content-sha256': '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
  }
  const plain = 'host;x-amz-content-sha256;x-amz-date'

  it.each([
    [
      'GET',
      '/test.txt',
      { ...common, range: 'bytes=0-9' },
      'host;range;x-amz-content-sha256;x-amz-date',
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
    [
      'PUT',
      '/test%24file.text',
      put,
      `date;${plain};x-amz-storage-class`,
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ],
    ['GET', '/?lifecycle', common, plain, 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
    ['GET', '/?max-keys=2&prefix=J', common, plain, '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
  ])('%s %s has the signature of the documentation', (method, target, headers, signedHeaders, signature) => {
    const made = authorization({ method, target, headers }, signedHeaders, 'us-east-1', KEY, SECRET)
    expect(made).toBe(
      `AWS4-HMAC-SHA256 Credential=${KEY}/20130524/us-east-1/s3/aws4_request, SignedHeaders=${signedHeaders}, Signature=${signature}`,
    )
  })
})

describe('requests of the adapter', () => {
  const seen: SeenRequest[] = []
  const server = createServer((request, response) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    seen.push({ method: request.method ?? '', target: request.url ?? '', headers })
    request.resume().on('end', () => response.writeHead(200, { etag: '"1"' }).end())
  })
  let endpoint = ''
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    endpoint = typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : ''
  })
  afterAll(() => void server.close())

  it.each([undefined, 'the token'])(
    'each has the signature of its own bytes, whatever its name (session: %s)',
    async (sessionToken) => {
      seen.length = 0
      const credentials = { accessKeyId: KEY, secretAccessKey: SECRET, sessionToken }
      const store = s3({ bucket: 'bucket', prefix: 'a prefix/ü+%', region: 'eu-central-1', endpoint, credentials })
      for (const name of [
        'plain',
        'a b',
        'a+b',
        'a%b',
        'a%2Fb',
        'ü',
        '日本',
        "it's (a) *star*!",
        'a?b=c&d',
        'a@2',
        'a:b',
        'a~',
      ]) {
        await store.get(name, { range: { start: 0, end: 9 }, ifNoneMatch: '"0"' })
        await store.put(name, new Uint8Array([1, 2, 3]), { ifAbsent: true })
        await store.put(name, new Uint8Array(100_000), { ifMatch: '"0"' })
        await store.delete?.([name])
      }
      for await (const _ of store.list?.('list/a b+c') ?? []) expect.unreachable()
      expect(seen).toHaveLength(12 * 4 + 1)
      for (const request of seen) {
        const sent = request.headers['authorization'] ?? ''
        const [, signedHeaders = ''] = /SignedHeaders=([^,]+)/.exec(sent) ?? []
        expect(signedHeaders.split(';')).toEqual(expect.arrayContaining(['host', 'x-amz-content-sha256', 'x-amz-date']))
        for (const condition of ['if-match', 'if-none-match', 'x-amz-security-token']) {
          expect(signedHeaders.split(';').includes(condition)).toBe(request.headers[condition] !== undefined)
        }
        expect(request.target).toMatch(/^\/bucket(\/a%20prefix\/%C3%BC%2B%25\/|\?)/)
        expect(sent).toBe(authorization(request, signedHeaders, 'eu-central-1', KEY, SECRET))
        expect(JSON.stringify(request)).not.toContain(SECRET)
      }
    },
  )
})

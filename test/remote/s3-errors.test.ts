/** S3 refuses: a build, a publishing build and `remote doctor` name what is wrong and what to do, and only what was late leads to the advice to wait longer. */
import { remoteDoctor, s3 } from '@varve/remote'
import { openCache, VarveError } from 'varve'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { HANGS, HttpServer } from './http.ts'
import { KEYS, Machine } from './machines.ts'

const server = new HttpServer()
beforeAll(() => server.start())
afterAll(() => server.stop())

const store = (): ReturnType<typeof s3> =>
  s3({
    bucket: 'bucket',
    prefix: 'p',
    endpoint: server.url,
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    requestMs: 400,
  })

/** The warnings of a build whose server answers with this error. */
async function warningsOf(writes: boolean): Promise<readonly string[]> {
  const machine = new Machine(store())
  const warnings: string[] = []
  const cache = await openCache({
    name: 'tool',
    dir: machine.dir,
    remote: writes ? machine.writer() : machine.remote(),
    onWarning: ({ code, message }) => warnings.push(`${code}: ${message}`),
  })
  cache.namespace('n', { codec: 'text' }).put('a', 'value')
  await cache.close()
  return warnings
}

function answerWith(status: number, word: string, headers: Readonly<Record<string, string>> = {}): void {
  server.answer = (request, response) => {
    response.writeHead(status, { 'content-type': 'application/xml', ...headers })
    const text = `<?xml version="1.0"?><Error><Code>${word}</Code><Message>AKIA-SECRET \u001b]0;x</Message></Error>`
    response.end(request.method === 'HEAD' ? undefined : text)
  }
}

const ELSEWHERE = { 'x-amz-bucket-region': 'eu-west-3' }

type ServerError = [
  status: number,
  word: string,
  code: string,
  advice: RegExp,
  headers?: Readonly<Record<string, string>>,
]

const ERRORS: readonly ServerError[] = [
  [404, 'NoSuchBucket', 'REMOTE_UNAVAILABLE', /the bucket does not exist/],
  [404, 'NoSuchTenant', 'REMOTE_UNAVAILABLE', /it is not known what that means. Check the address/],
  [400, 'ExpiredToken', 'REMOTE_DENIED', /have expired; get new credentials/],
  [301, 'PermanentRedirect', 'REMOTE_UNAVAILABLE', /set region=eu-west-3 in VARVE_REMOTE/, ELSEWHERE],
  [301, 'PermanentRedirect', 'REMOTE_UNAVAILABLE', /set region=<its region>/, { 'x-amz-bucket-region': 'a\tb' }],
  [307, 'TemporaryRedirect', 'REMOTE_UNAVAILABLE', /made a short time ago/],
  [400, 'AuthorizationHeaderMalformed', 'REMOTE_DENIED', /set region=eu-west-3/, ELSEWHERE],
  [
    403,
    'RequestTimeTooSkewed',
    'REMOTE_DENIED',
    /set the clock of this machine, which is \d+ s behind/,
    { date: 'Tue, 01 Jan 2199 00:00:00 GMT' },
  ],
  [403, 'AccessDenied', 'REMOTE_DENIED', /do not allow this request/],
  [403, 'InvalidAccessKeyId', 'REMOTE_DENIED', /the access key does not exist/],
  [403, 'InvalidSecurity', 'REMOTE_DENIED', /credentials are not valid/],
  [403, 'SignatureDoesNotMatch', 'REMOTE_DENIED', /secret key does not belong/],
  [400, 'InvalidToken', 'REMOTE_DENIED', /the session token is not valid/],
  [400, 'InvalidBucketName', 'REMOTE_UNAVAILABLE', /does not allow this name/],
  [403, 'SlowDown', 'REMOTE_DENIED', /too many requests/],
  [500, 'InternalError', 'REMOTE_UNAVAILABLE', /a problem of its own\. Try again later/],
  [503, 'SlowDown', 'REMOTE_UNAVAILABLE', /too many requests/],
  [507, 'XMinioStorageFull', 'REMOTE_UNAVAILABLE', /the storage is full/],
  [400, 'SomethingElse', 'REMOTE_UNAVAILABLE', /check the address in VARVE_REMOTE/],
  [403, 'constructor', 'REMOTE_DENIED', /check the credentials/],
]

describe.each(ERRORS)('status %i, %s', (...[status, word, code, advice, headers]: ServerError) => {
  it.each([false, true])('a build has one warning with the cause and the fix; it publishes: %s', async (writes) => {
    answerWith(status, word, headers)
    const [warning, ...others] = await warningsOf(writes)
    expect([warning?.split(':')[0], others]).toEqual([code, []])
    expect(warning).toMatch(advice)
    expect(warning).toContain(`status ${status} (${word})`)
    for (const text of ['wait longer', 'AKIA', '\u001b']) expect(warning).not.toContain(text)
  })

  it('the doctor names it', async () => {
    answerWith(status, word, headers)
    const environment = {
      VARVE_REMOTE: `s3://bucket/p?endpoint=${server.url}`,
      VARVE_TRUSTED_KEYS: KEYS.publicKey,
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
    }
    const { ok, findings } = await remoteDoctor(environment, { dir: makeFolder() })
    const [connection] = findings.filter(({ what }) => what === 'connection')
    expect([ok, connection?.found, connection?.advice]).toEqual([false, code, expect.stringMatching(advice)])
  })
})

it('an object that does not exist is no error, however long the answer is', async () => {
  answerWith(404, 'NoSuchKey')
  expect(await store().get('v1/trusted/main/head', { bytesMax: 10 })).toBeUndefined()
  expect(await warningsOf(false)).toEqual([])
})

describe('a server that is not S3 and answers each request with 404 and a page', () => {
  const isPage = (request: { readonly method?: string | undefined }): boolean => request.method !== 'HEAD'
  it.each([false, true])('is reported by a build; it publishes: %s', async (writes) => {
    server.answer = (request, response) =>
      void response.writeHead(404, { 'content-type': 'text/html' }).end(isPage(request) ? '<h1>404 Not Found</h1>' : '')
    const [warning, ...others] = await warningsOf(writes)
    expect([warning, others]).toEqual([expect.stringMatching(/status 404: the answer is not that of S3/), []])
  })

  it('an empty answer with 404 is an object that does not exist', async () => {
    server.answer = (_, response) => void response.writeHead(404).end()
    expect([await store().get('a'), await warningsOf(false)]).toEqual([undefined, []])
  })
})

it.each([
  [
    'TLS is expected of a server without it',
    (url: string) => url.replace('http:', 'https:'),
    /: EPROTO: .*check http or https/,
  ],
  ['no server has the port', () => 'http://127.0.0.1:1', /: ECONNREFUSED: no server answers/],
  ['no server has the name', () => 'https://varve.invalid', /: (?:ENOTFOUND|EAI_AGAIN): .*check the/],
])('a connection that fails is explained: %s', async (_, endpoint, expected) => {
  server.answer = (_request, response) => void response.writeHead(404).end()
  const elsewhere = s3({ bucket: 'bucket', endpoint: endpoint(server.url), requestMs: 400 })
  await expect(elsewhere.get('a')).rejects.toThrow(expected)
})

it('only an answer that is late leads to the advice to wait longer', async () => {
  server.answer = HANGS
  expect((await warningsOf(false)).join()).toMatch(/no complete answer within .*wait longer/)
  await expect(store().get('v1/trusted/main/head')).rejects.toSatisfy(
    (error) => error instanceof VarveError && error.cause instanceof Error && error.cause.name === 'TimeoutError',
  )
})

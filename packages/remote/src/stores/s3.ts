/**
 * An S3-compatible object store, addressed by path. Requests with credentials are signed.
 *
 * Some gateways answer a large PUT with 412 before they have read its body and close the connection, which is a transport error.
 * A HEAD before create-only PUTs above `PROBED_BYTES` avoids this, and the transfer of a blob that exists.
 */
import { createHash } from 'node:crypto'
import { VarveError } from 'varve'
import { ANYTHING, checkOptions, type Fields, STRING, TEXT } from 'varve/internal'
import { invalidOption, SERVER } from '../options.ts'
import {
  type Answer,
  type Call,
  type ErrorAdvice,
  fetchedIn,
  getCall,
  headIn,
  send,
  type ServerError,
  serverUrl,
} from './http.ts'
import {
  type BlobStore,
  encodeName,
  encodeSegment,
  type Fetched,
  type GetOptions,
  type Head,
  type Listed,
  type PutOptions,
  type PutOutcome,
  segmentsOf,
} from './store.ts'
import aws4 from 'aws4'

/** Options of `s3`. */
export interface S3Options {
  readonly bucket: string
  /**
   * Path below which all objects are.
   * @defaultValue `''`
   */
  readonly prefix?: string | undefined
  /** @defaultValue `'us-east-1'` */
  readonly region?: string | undefined
  /**
   * Address of the service.
   * @defaultValue `https://s3.<region>.amazonaws.com`
   */
  readonly endpoint?: string | undefined
  /**
   * The credentials, or a function that is called for each request.
   * @defaultValue none: requests are not signed, which a bucket that everyone may read accepts
   */
  readonly credentials?: S3Credentials | (() => S3Credentials | Promise<S3Credentials>) | undefined
  /**
   * Accepts plain http to another machine.
   * @defaultValue `false`
   */
  readonly allowInsecure?: boolean | undefined
  /**
   * Milliseconds for one request, besides the time for its bytes.
   * @defaultValue `5000`
   */
  readonly requestMs?: number | undefined
}

const PROBED_BYTES = 65_536
const EMPTY_SHA256 = createHash('sha256').digest('hex')
const FIELDS: Fields<S3Options> = { bucket: ANYTHING, prefix: STRING, region: TEXT, endpoint: TEXT, ...SERVER }

/** A store in a bucket of S3, or of a service that is compatible. */
export function s3(options: S3Options): BlobStore {
  checkOptions('s3()', options, FIELDS)
  const { bucket, prefix = '', credentials } = options
  if (typeof bucket !== 'string' || !/^[a-z0-9][a-z0-9.-]{1,62}$/.test(bucket)) {
    throw invalidOption("option 'bucket' of s3()", "3 to 63 of a-z, 0-9, '.' and '-', for example 'my-bucket'")
  }
  if (prefix !== '') segmentsOf(prefix)
  const isFixed = credentials !== undefined && typeof credentials !== 'function'
  const isIncomplete = isFixed && !(credentials.accessKeyId && credentials.secretAccessKey)
  const variables = '(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)'
  if (isIncomplete)
    throw invalidOption("option 'credentials' of s3()", `'accessKeyId' and 'secretAccessKey' ${variables}`)
  return new S3Store(options)
}

/** What a request to S3 consists of, besides its signature. */
interface S3Request extends Omit<Call, 'url' | 'headers'> {
  readonly path: string
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly sha256?: string | undefined
}

class S3Store implements BlobStore {
  readonly label: string
  readonly capabilities = {
    range: true,
    createOnly: true,
    compareAndSwap: true,
    list: true,
    delete: true,
    bytesMax: 5 * 2 ** 30,
  }
  readonly requestMs: number
  readonly #bucketUrl: string
  readonly #prefix: string
  readonly #region: string
  readonly #credentials: S3Options['credentials']

  constructor({
    bucket,
    prefix = '',
    region = 'us-east-1',
    endpoint,
    credentials,
    allowInsecure = false,
    requestMs = 5000,
  }: S3Options) {
    const url = serverUrl('endpoint', endpoint ?? `https://s3.${region}.amazonaws.com`, allowInsecure)
    this.label = `s3://${bucket}/${prefix} (${url.host})`
    this.requestMs = requestMs
    this.#bucketUrl = `${url.origin}${url.pathname.replace(/\/$/, '')}/${bucket}`
    this.#prefix = prefix === '' ? '' : `${prefix}/`
    this.#region = region
    this.#credentials = credentials
  }

  async get(name: string, options: GetOptions = {}): Promise<Fetched | undefined> {
    return fetchedIn(await this.#send({ name, path: this.#keyOf(name), ...getCall(options) }), options)
  }

  async head(name: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<Head | undefined> {
    return headIn(await this.#send({ name, path: this.#keyOf(name), method: 'HEAD', expected: [200, 404], signal }))
  }

  async put(
    name: string,
    bytes: Uint8Array,
    { ifAbsent, ifMatch, sha256, signal }: PutOptions = {},
  ): Promise<PutOutcome> {
    if (ifAbsent === true && bytes.length > PROBED_BYTES && (await this.head(name, { signal })) !== undefined)
      return 'exists'
    const headers: Record<string, string> = { 'content-type': 'application/octet-stream' }
    if (ifAbsent === true) headers['if-none-match'] = '*'
    if (ifMatch !== undefined) headers['if-match'] = ifMatch
    // With If-Match, 409 is a write at the same time, and 404 a blob that was removed.
    const expected = ifMatch === undefined ? [200, 412] : [200, 404, 409, 412]
    const { status } = await this.#send({
      name,
      path: this.#keyOf(name),
      method: 'PUT',
      headers,
      body: bytes,
      sha256,
      expected,
      signal,
    })
    if (status === 200) return 'stored'
    return ifAbsent === true ? 'exists' : 'conflict'
  }

  async *list(prefix: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): AsyncIterable<Listed> {
    for (let token = ''; ;) {
      const parameters = [
        ['list-type', '2'],
        ['prefix', this.#prefix + prefix],
        ...(token === '' ? [] : [['continuation-token', token]]),
      ]
      const query = parameters.map(([key = '', value = '']) => `${key}=${encodeSegment(value)}`).join('&')
      const answer = await this.#send({ name: prefix, path: '', query, method: 'GET', expected: [200], signal })
      const text = new TextDecoder().decode(answer.bytes)
      for (const item of contentsOf(text)) {
        const name = textOf(item, 'Key').slice(this.#prefix.length)
        yield { name, size: Number(textOf(item, 'Size')), modified: Date.parse(textOf(item, 'LastModified')) }
      }
      const next = textOf(text, 'NextContinuationToken')
      if (next === '') return
      if (next === token)
        throw new VarveError(
          'REMOTE_UNTRUSTED',
          `the list of '${prefix}' at ${this.label} does not end: it repeats a page`,
        )
      token = next
    }
  }

  async delete(
    names: readonly string[],
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    for (const name of names)
      await this.#send({ name, path: this.#keyOf(name), method: 'DELETE', expected: [200, 204, 404], signal })
  }

  #keyOf(name: string): string {
    return `/${encodeName(this.#prefix + name)}`
  }

  #send({ path, query, headers = {}, sha256, ...call }: S3Request): Promise<Answer> {
    const { method, body } = call
    const url = new URL(`${this.#bucketUrl}${path}${query === undefined ? '' : `?${query}`}`)
    const digest = body === undefined ? EMPTY_SHA256 : (sha256 ?? createHash('sha256').update(body).digest('hex'))
    const signedHeaders = async (): Promise<Readonly<Record<string, string>>> => {
      const credentials = typeof this.#credentials === 'function' ? await this.#credentials() : this.#credentials
      if (credentials === undefined) return headers
      return signed({ method, url, headers, sha256: digest, region: this.#region }, credentials)
    }
    return send({ ...call, url: url.href, headers: signedHeaders, explain: explainS3 }, this)
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The objects of a page of a list. A pattern would take quadratic time for elements that do not end. */
function* contentsOf(page: string): IterableIterator<string> {
  for (let end = 0; ;) {
    const start = page.indexOf('<Contents>', end)
    end = start === -1 ? -1 : page.indexOf('</Contents>', start)
    if (end === -1) return
    yield page.slice(start, end)
  }
}

/** The text of the first element with this name, which has no attributes; '' if there is none. */
function textOf(xml: string, element: string): string {
  const tag = `<${element}>`
  const start = xml.indexOf(tag) + tag.length
  const end = start < tag.length ? -1 : xml.indexOf('<', start)
  const text = end === -1 || !xml.startsWith(`/${element}>`, end + 1) ? '' : xml.slice(start, end)
  return text.includes('&') ? unescaped(text) : text
}

function unescaped(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, named?: string) => {
    if (named !== undefined) return ENTITIES[named] ?? whole
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

// What the errors of S3 mean for a user. The service names each in one word, with any status: a bucket that does not exist is a 404, as an object
// that does not exist is.

const ACCESS = 'the credentials do not allow this request. Allow reading, writing and listing for the bucket and prefix'
const KEY = 'check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
const TOKEN = 'get new credentials, and set AWS_SESSION_TOKEN with the other two'
const CLOSED = 'the account or the bucket is not in use. Ask its owner'
const OTHER_SERVICE = 'the answer is not that of S3. Check the endpoint in VARVE_REMOTE'
const LATER = 'the service has a problem of its own. Try again later'

/** Refused credentials. Everything else is an address that is wrong, or a service that does not work. */
const DENIED: Readonly<Record<string, string>> = {
  AccessDenied: ACCESS,
  UnauthorizedAccess: ACCESS,
  AllAccessDisabled: CLOSED,
  AccountProblem: CLOSED,
  NotSignedUp: CLOSED,
  InvalidAccessKeyId: `the access key does not exist; ${KEY}`,
  SignatureDoesNotMatch: `the secret key does not belong to the access key; ${KEY}`,
  ExpiredToken: `the credentials have expired; ${TOKEN}`,
  TokenRefreshRequired: `the credentials have expired; ${TOKEN}`,
  InvalidToken: `the session token is not valid; ${TOKEN}`,
  InvalidSecurity: `the credentials are not valid; ${KEY}`,
  RequestExpired: 'set the clock of this machine',
  RequestTimeTooSkewed: 'set the clock of this machine',
  AuthorizationHeaderMalformed: 'the signature names another region',
}

const UNAVAILABLE: Readonly<Record<string, string>> = {
  NoSuchBucket: 'the bucket does not exist there. Create it, or correct its name, region or endpoint in VARVE_REMOTE',
  InvalidBucketName: 'the service does not allow this name of a bucket. Correct it in VARVE_REMOTE',
  PermanentRedirect: 'the bucket is in another region',
  TemporaryRedirect: 'the bucket was made a short time ago, or is in another region',
  IllegalLocationConstraintException: 'the bucket is in another region',
  InvalidRegion: 'the bucket is in another region',
  NotImplemented: 'the service lacks what a remote needs, such as conditional writes. Use another store',
  QuotaExceeded: "the storage is full. Run 'npx varve remote gc', or extend it",
  XMinioStorageFull: "the storage is full. Run 'npx varve remote gc', or extend it",
  RequestTimeout: LATER,
  SlowDown: 'the service gets too many requests. Try again later',
  ServiceUnavailable: LATER,
  InternalError: LATER,
}

/** An object that does not exist: the one 404 that is no error. */
const ABSENT: ReadonlySet<string> = new Set(['NoSuchKey', 'NoSuchVersion', 'NoSuchObject', 'NotFound'])

const UNKNOWN = 'it is not known what that means. Check the address in VARVE_REMOTE, and the service'

const REGION = 'set region=<its region> in VARVE_REMOTE, or AWS_REGION'

/** The words after which the region of the bucket helps. */
const OF_REGION = new Set([
  'PermanentRedirect',
  'TemporaryRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
  'InvalidRegion',
])

/** The code and advice of an answer; undefined if the caller knows what it means. */
function explainS3({ status, word, hasText, headers, aheadMs }: ServerError): ErrorAdvice | undefined {
  // A web server or a proxy: S3 says with a word that an object does not exist.
  if (status === 404 && hasText && word === undefined) return { code: 'REMOTE_UNAVAILABLE', advice: OTHER_SERVICE }
  // An answer to HEAD has no text. Of a redirect, S3 sends the region.
  const name = word ?? (status === 301 || status === 307 ? 'PermanentRedirect' : '')
  const denied = Object.hasOwn(DENIED, name) ? DENIED[name] : undefined
  const unavailable = Object.hasOwn(UNAVAILABLE, name) ? UNAVAILABLE[name] : undefined
  const advice = denied ?? unavailable
  if (advice === undefined) {
    const isObject = status !== 404 || word === undefined || ABSENT.has(word)
    return isObject ? undefined : { code: 'REMOTE_UNAVAILABLE', advice: UNKNOWN }
  }
  const isDenied = denied !== undefined || status === 401 || status === 403
  const code = isDenied ? 'REMOTE_DENIED' : 'REMOTE_UNAVAILABLE'
  if (OF_REGION.has(name)) return { code, advice: `${advice}; ${regionFix(headers['x-amz-bucket-region'])}` }
  if (name === 'RequestTimeTooSkewed' && aheadMs !== undefined) {
    const seconds = Math.round(Math.abs(aheadMs) / 1000)
    return { code, advice: `${advice}, which is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} the server` }
  }
  return { code, advice }
}

function regionFix(region: string | string[] | undefined): string {
  return typeof region === 'string' && /^[a-z0-9-]{1,32}$/.test(region)
    ? REGION.replace('<its region>', region)
    : REGION
}

/** Credentials of S3. */
export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

/** A request before it is signed. */
export interface Unsigned {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** SHA-256 of the body, in hex. */
  readonly sha256: string
  readonly region: string
}

/** The headers of a request with its signature. All of them are signed. */
export function signed(
  { method, url, headers, sha256, region }: Unsigned,
  credentials: S3Credentials,
): Readonly<Record<string, string>> {
  const sent = { ...headers, 'x-amz-content-sha256': sha256 }
  const request = { method, host: url.host, path: url.pathname + url.search, headers: sent, service: 's3', region }
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const token = sessionToken === undefined ? {} : { sessionToken }
  const { headers: all = {} } = aws4.sign(request, { accessKeyId, secretAccessKey, ...token })
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)]))
}

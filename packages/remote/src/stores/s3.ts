/**
 * An S3-compatible object store, addressed by path. Requests with credentials are signed.
 *
 * Some gateways answer a large PUT with 412 before they have read its body and close the connection, which is a transport error.
 * A HEAD before create-only PUTs above `PROBED_BYTES` avoids this, and the transfer of a blob that exists.
 */
import { createHash } from 'node:crypto'
import { VarveError } from 'varve'
import { ANY_TEXT, checkOptions, checkValues, invalidOption, SERVER, TEXT } from '../options.ts'
import { type Answer, type Call, fetchedIn, getCall, headIn, send, serverUrl } from './http.ts'
import { explainS3 } from './s3-errors.ts'
import { type S3Credentials, signed } from './sigv4.ts'
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
const FIELDS = ['bucket', 'prefix', 'region', 'endpoint', 'credentials', 'allowInsecure', 'requestMs']

/** A store in a bucket of S3, or of a service that is compatible. */
export function s3(options: S3Options): BlobStore {
  checkOptions('s3()', options, FIELDS)
  checkValues(options, { prefix: ANY_TEXT, region: TEXT, endpoint: TEXT, ...SERVER })
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

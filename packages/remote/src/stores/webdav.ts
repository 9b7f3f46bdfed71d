/**
 * A WebDAV server as a store: GET, HEAD, PUT, DELETE, and MKCOL if the server wants directories to exist. nginx ignores conditions
 * of PUT, so without `conditional` a check before the PUT approximates them, and there is no head.
 */
import { VarveError } from 'varve'
import { ANYTHING, BOOLEAN, checkOptions, type Fields } from 'varve/internal'
import { invalidOption, SERVER } from '../options.ts'
import {
  type Answer,
  authorizationOf,
  type Call,
  type CredentialsOption,
  fetchedIn,
  getCall,
  headIn,
  send,
  serverUrl,
} from './http.ts'
import {
  type BlobStore,
  doesNotExist,
  encodeName,
  type Fetched,
  type GetOptions,
  type Head,
  type PutOptions,
  type PutOutcome,
} from './store.ts'

/** Options of `webdav`. */
export interface WebdavOptions {
  /** Address of the directory, without credentials. */
  readonly url: string
  /** A user and a password, or a bearer token; a function is called for each request. */
  readonly credentials?: CredentialsOption | undefined
  /**
   * The server honours `If-Match` and `If-None-Match` of PUT.
   * @defaultValue `false`
   */
  readonly conditional?: boolean | undefined
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

const FIELDS: Fields<WebdavOptions> = { url: ANYTHING, conditional: BOOLEAN, ...SERVER }
const STORED = [200, 201, 204]
/** For a request of which only one status counts. */
const ANY_STATUS: readonly number[] = Array.from({ length: 500 }, (_, index) => 100 + index)

/** A store on a WebDAV server. */
export function webdav(options: WebdavOptions): BlobStore {
  checkOptions('webdav()', options, FIELDS)
  if (typeof options.url !== 'string') throw invalidOption("option 'url' of webdav()", 'an http or https address')
  return new WebdavStore(options)
}

/** What a request consists of, besides its credentials. */
interface WebdavRequest extends Omit<Call, 'url' | 'headers'> {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

class WebdavStore implements BlobStore {
  readonly label: string
  readonly capabilities: BlobStore['capabilities']
  readonly requestMs: number
  readonly #url: string
  readonly #credentials: WebdavOptions['credentials']

  constructor({
    url: given,
    credentials,
    conditional = false,
    allowInsecure = false,
    requestMs = 5000,
  }: WebdavOptions) {
    const url = serverUrl('url', given, allowInsecure)
    this.label = `${url.host}${url.pathname}`
    this.requestMs = requestMs
    this.capabilities = {
      range: true,
      createOnly: conditional,
      compareAndSwap: conditional,
      list: false,
      delete: true,
      bytesMax: 2 ** 31,
    }
    this.#url = `${url.origin}${url.pathname.replace(/\/$/, '')}`
    this.#credentials = credentials
  }

  async get(name: string, options: GetOptions = {}): Promise<Fetched | undefined> {
    return fetchedIn(await this.#send({ name, path: encodeName(name), ...getCall(options) }), options)
  }

  async head(name: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<Head | undefined> {
    return headIn(await this.#send({ name, path: encodeName(name), method: 'HEAD', expected: [200, 404], signal }))
  }

  async put(name: string, bytes: Uint8Array, { ifAbsent, ifMatch, signal }: PutOptions = {}): Promise<PutOutcome> {
    if (ifAbsent === true && (await this.head(name, { signal })) !== undefined) return 'exists'
    if (ifMatch !== undefined && (await this.head(name, { signal }))?.etag !== ifMatch) return 'conflict'
    const headers: Record<string, string> = {}
    if (ifAbsent === true) headers['if-none-match'] = '*'
    if (ifMatch !== undefined) headers['if-match'] = ifMatch
    const request = { name, path: encodeName(name), method: 'PUT', headers, body: bytes, signal }
    let { status } = await this.#send({ ...request, expected: [...STORED, 409, 412] })
    if (status === 409) {
      await this.#makeDirectories(name, signal)
      status = (await this.#send({ ...request, expected: [...STORED, 412] })).status
    }
    if (STORED.includes(status)) return 'stored'
    return ifAbsent === true ? 'exists' : 'conflict'
  }

  async delete(
    names: readonly string[],
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    for (const name of names)
      await this.#send({ name, path: encodeName(name), method: 'DELETE', expected: [200, 204, 404], signal })
  }

  /** Servers answer one of both for a directory: nginx HEAD, with any status but 404, others PROPFIND. */
  async missing({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<string | undefined> {
    if (new URL(this.#url).pathname === '/') return undefined // the root of a server
    for (const method of ['HEAD', 'PROPFIND']) {
      const request = { name: '/', path: '', method, headers: { depth: '0' }, expected: ANY_STATUS, signal }
      if ((await this.#send(request)).status !== 404) return undefined
    }
    return doesNotExist(`the directory ${this.label}`)
  }

  /** Makes the directories above a name, from the top down. */
  async #makeDirectories(name: string, signal: AbortSignal | undefined): Promise<void> {
    const segments = encodeName(name).split('/')
    for (let depth = 1; depth < segments.length; depth++) {
      const path = `${segments.slice(0, depth).join('/')}/`
      const { status } = await this.#send({ name, path, method: 'MKCOL', expected: [200, 201, 405, 409], signal })
      if (status === 409) {
        const why = `the directory ${this.label} does not exist. Create it, or correct VARVE_REMOTE`
        throw new VarveError('REMOTE_UNAVAILABLE', `cannot write '${name}': ${why}`)
      }
    }
  }

  #send({ path, headers = {}, ...call }: WebdavRequest): Promise<Answer> {
    const withCredentials = async (): Promise<Record<string, string>> => ({
      ...headers,
      ...(await authorizationOf(this.#credentials)),
    })
    return send({ ...call, url: `${this.#url}/${path}`, headers: withCredentials }, this)
  }
}

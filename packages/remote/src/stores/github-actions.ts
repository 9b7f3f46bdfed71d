/**
 * The cache service of GitHub Actions, version 2: Twirp calls with JSON, and signed addresses for the bytes.
 *
 *   CreateCacheEntry           key, version -> an address to PUT; 409 if the key exists
 *   FinalizeCacheEntryUpload   key, version, size: from now on the entry is found
 *   GetCacheEntryDownloadURL   key and prefixes, version -> an address to GET, of the newest entry that matches
 *
 * Entries cannot be changed, so each write of a blob is an entry of its own: `<sha256 of name>-<part of this write>`. Reading asks for the
 * prefix. There is no head, because nothing is compared.
 *
 * GitHub's own library for this service unpacks the archive that it has fetched before anyone can verify it, with absolute paths, and
 * reports a failure as a miss. So the calls are made here; tests compare both.
 */
import { createHash, randomUUID } from 'node:crypto'
import { VarveError } from 'varve'
import { invalidOption, isObject, isText, MS, parseJson } from '../options.ts'
import { ANYTHING, checkOptions, type Fields, STRING, TEXT } from 'varve/internal'
import { authorizationOf, isLoopback, send, serverUrl } from './http.ts'
import { type BlobStore, digestIn, type WholeBlobs, WholeStore } from './store.ts'
import { environment } from '../host.ts'

/** Options of `githubActions`. */
export interface GithubActionsOptions {
  /**
   * Separates the blobs from those of other projects of the repository.
   * @defaultValue `'varve'`
   */
  readonly prefix?: string | undefined
  /** @defaultValue `ACTIONS_RESULTS_URL` of the environment */
  readonly url?: string | undefined
  /** @defaultValue `ACTIONS_RUNTIME_TOKEN` of the environment */
  readonly token?: string | undefined
  /**
   * Milliseconds for one request, besides the time for its bytes.
   * @defaultValue `5000`
   */
  readonly requestMs?: number | undefined
}

const FIELDS: Fields<GithubActionsOptions> = { prefix: TEXT, url: STRING, token: ANYTHING, requestMs: MS }
const SERVICE = 'twirp/github.actions.results.api.v1.CacheService'

/** Entries of another version are never found. */
const VERSION = createHash('sha256').update('varve|1').digest('hex')

/** A store in the cache of a repository on GitHub. */
export function githubActions(options: GithubActionsOptions = {}): BlobStore {
  checkOptions('githubActions()', options, FIELDS)
  const { url = environment()['ACTIONS_RESULTS_URL'], token = environment()['ACTIONS_RUNTIME_TOKEN'] } = options
  if (url === undefined || url === '' || typeof token !== 'string' || token === '') {
    const why = 'only the steps of an action get them; docs/remote.md has a step that exports them'
    throw invalidOption('environment of githubActions()', `ACTIONS_RESULTS_URL and ACTIONS_RUNTIME_TOKEN: ${why}`)
  }
  return new WholeStore(new ActionsBlobs({ ...options, url, token }))
}

class ActionsBlobs implements WholeBlobs {
  readonly label: string
  readonly bytesMax = 64 << 20
  readonly requestMs: number
  readonly #url: string
  readonly #token: string
  readonly #prefix: string

  constructor({
    url: given,
    token,
    prefix = 'varve',
    requestMs = 5000,
  }: GithubActionsOptions & { readonly url: string; readonly token: string }) {
    const url = serverUrl('url', given, false)
    this.label = `cache of GitHub Actions (${prefix})`
    this.requestMs = requestMs
    this.#url = `${url.origin}${url.pathname.replace(/\/$/, '')}/${SERVICE}`
    this.#token = token
    this.#prefix = prefix
  }

  async read(name: string, bytesMax: number, signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    const url = await this.#find(name, signal)
    if (url === undefined) return undefined
    const { status, bytes } = await send(
      { name, method: 'GET', url, headers: () => ({}), bytesMax, expected: [200, 404], signal },
      this,
    )
    return status === 404 ? undefined : bytes
  }

  async has(name: string, signal: AbortSignal | undefined): Promise<boolean> {
    return (await this.#find(name, signal)) !== undefined
  }

  async write(name: string, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    const fixed = digestIn(name) === undefined ? undefined : '0'
    // A publisher that has ended may have occupied the key of a digest without uploading anything.
    const done = fixed !== undefined && (await this.#upload(name, fixed, bytes, signal))
    if (!done && !(await this.#upload(name, `${Date.now()}-${randomUUID()}`, bytes, signal)))
      throw this.#unexpected(name)
  }

  /** Writes an entry. Returns whether its key was free. */
  async #upload(name: string, part: string, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<boolean> {
    const entry = { key: `${this.#keyOf(name)}-${part}`, version: VERSION }
    const created = await this.#call('CreateCacheEntry', name, entry, signal)
    if (created === undefined) return false
    const url = this.#addressIn(name, created['signed_upload_url'] ?? created['signedUploadUrl'])
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'content-type': 'application/octet-stream' }
    await send({ name, method: 'PUT', url, headers: () => headers, body: bytes, expected: [200, 201], signal }, this)
    const finalized = await this.#call(
      'FinalizeCacheEntryUpload',
      name,
      { ...entry, size_bytes: String(bytes.length) },
      signal,
    )
    if (finalized?.['ok'] !== true) throw this.#unexpected(name)
    return true
  }

  /** The address of the newest entry of a blob; undefined if there is none. */
  async #find(name: string, signal: AbortSignal | undefined): Promise<string | undefined> {
    const key = `${this.#keyOf(name)}-`
    const found = await this.#call(
      'GetCacheEntryDownloadURL',
      name,
      { key, restore_keys: [key], version: VERSION },
      signal,
    )
    return found?.['ok'] === true
      ? this.#addressIn(name, found['signed_download_url'] ?? found['signedDownloadUrl'])
      : undefined
  }

  /** The answer to a call; undefined if the key exists. */
  async #call(
    method: string,
    name: string,
    body: object,
    signal: AbortSignal | undefined,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const headers = async (): Promise<Record<string, string>> => {
      return { ...(await authorizationOf({ token: this.#token })), 'content-type': 'application/json' }
    }
    const request = {
      name,
      action: method,
      method: 'POST',
      url: `${this.#url}/${method}`,
      headers,
      body: Buffer.from(JSON.stringify(body)),
    }
    const { status, bytes } = await send({ ...request, expected: [200, 409], signal }, this)
    if (status === 409) return undefined
    const answer = jsonOf(bytes)
    if (!isObject(answer)) throw this.#unexpected(name)
    return answer
  }

  /** An address of the bytes, which is a secret: it contains its signature. */
  #addressIn(name: string, value: unknown): string {
    const url = isText(value) && URL.canParse(value) ? new URL(value) : undefined
    if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return url.href
    throw this.#unexpected(name)
  }

  #unexpected(name: string): VarveError {
    return new VarveError(
      'REMOTE_UNAVAILABLE',
      `cannot use '${name}' of the ${this.label}: the service has sent an unexpected answer`,
    )
  }

  #keyOf(name: string): string {
    return `varve-${createHash('sha256').update(`${this.#prefix}/${name}`).digest('hex')}`
  }
}

const ANSWER_PARTS = 1000

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes, ANSWER_PARTS)
  } catch {
    return undefined
  }
}

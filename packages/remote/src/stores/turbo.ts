/**
 * A server of the Turborepo API, such as turborepo-remote-cache: blobs at `/v8/artifacts/<sha256 of name>`, with a bearer token. The API
 * has no ranges, conditions, lists or deletes.
 */
import { createHash } from 'node:crypto'
import { ANYTHING, BOOLEAN, checkOptions, type Fields, STRING } from 'varve/internal'
import { invalidOption, MS } from '../options.ts'
import { type Answer, authorizationOf, type Call, send, serverUrl } from './http.ts'
import type { BlobStore } from './store.ts'
import { type WholeBlobs, WholeStore } from './whole.ts'

/** Options of `turbo`. */
export interface TurboOptions {
  /** Address of the server, without credentials; what Turborepo calls `TURBO_API`. */
  readonly url: string
  /** The bearer token, or a function that is called for each request. */
  readonly token: string | (() => string | Promise<string>)
  /** The team: its id, which begins with `team_`, or its slug. Most servers require one. */
  readonly team?: string | undefined
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

const FIELDS: Fields<TurboOptions> = {
  url: ANYTHING,
  token: ANYTHING,
  team: STRING,
  allowInsecure: BOOLEAN,
  requestMs: MS,
}

/** A store in a server of the Turborepo API. */
export function turbo(options: TurboOptions): BlobStore {
  checkOptions('turbo()', options, FIELDS)
  const { url, token, team = '' } = options
  if (typeof url !== 'string') throw invalidOption("option 'url' of turbo()", 'an http or https address')
  if (typeof token !== 'function' && (typeof token !== 'string' || token === '')) {
    throw invalidOption("option 'token' of turbo()", 'the token of the server (VARVE_REMOTE_TOKEN or TURBO_TOKEN)')
  }
  if (!/^[\w.-]{0,100}$/.test(team)) {
    throw invalidOption("option 'team' of turbo()", "an id or a slug, for example 'team_frontend'")
  }
  return new WholeStore(new TurboBlobs(options))
}

class TurboBlobs implements WholeBlobs {
  readonly label: string
  /** Servers that run as functions of a cloud accept bodies of 4.5 MB. */
  readonly bytesMax = 4 << 20
  readonly requestMs: number
  readonly #url: string
  readonly #query: string
  readonly #token: TurboOptions['token']

  constructor({ url: given, token, team = '', allowInsecure = false, requestMs = 5000 }: TurboOptions) {
    const url = serverUrl('url', given, allowInsecure)
    const path = url.pathname.replace(/\/$/, '')
    this.label = `turbo cache ${url.host}${path}${team === '' ? '' : ` of team '${team}'`}`
    this.requestMs = requestMs
    this.#url = `${url.origin}${path}/v8/artifacts`
    this.#query = team === '' ? '' : `?${team.startsWith('team_') ? 'teamId' : 'slug'}=${team}`
    this.#token = token
  }

  async read(name: string, bytesMax: number, signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    const { status, bytes } = await this.#send({ name, method: 'GET', expected: [200, 404], bytesMax, signal })
    return status === 404 ? undefined : bytes
  }

  async has(name: string, signal: AbortSignal | undefined): Promise<boolean> {
    return (await this.#send({ name, method: 'HEAD', expected: [200, 404], signal })).status === 200
  }

  async write(name: string, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    await this.#send({ name, method: 'PUT', body: bytes, expected: [200, 201, 202, 204], signal })
  }

  #send(call: Omit<Call, 'url' | 'headers'>): Promise<Answer> {
    const hash = createHash('sha256').update(call.name).digest('hex')
    const headers = async (): Promise<Record<string, string>> => {
      const token = typeof this.#token === 'function' ? await this.#token() : this.#token
      return {
        ...(await authorizationOf({ token })),
        ...(call.body === undefined ? {} : { 'content-type': 'application/octet-stream' }),
      }
    }
    return send({ ...call, url: `${this.#url}/${hash}${this.#query}`, headers }, this)
  }
}

/**
 * Requests to a store over HTTP, each within its budget. No error contains a header, a query or the body of an answer, so no
 * secret reaches an output.
 *
 *   1. An attempt may take `CONNECT_MS` until it has a connection; `requestMs` plus the time of its body (`budgetOf`), until the
 *      head of the answer; then the same again for the body of the answer. One that is late is not repeated.
 *   2. Transport errors and the statuses 409, 429 and 5xx are repeated, up to `ATTEMPTS` in all, after a jittered delay or
 *      after Retry-After, unless that is longer than `DELAY_MS_MAX`.
 *   3. Each other status is an error with advice, also an expected one in which the service names a cause that `explain` knows.
 *      401 and 403 are REMOTE_DENIED at once. Redirects are not followed: they would carry credentials elsewhere.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { VarveError } from 'varve'
import { explainTransport, Timeout, transportCode } from '../error-code.ts'
import { invalidOption } from '../options.ts'
import { CONNECT_MS, exchange, type Exchange, type Response } from './connect.ts'
import { budgetOf, type Fetched, type GetOptions, type Head, tooLarge } from './store.ts'
import { environment } from '../host.ts'

/** A user with a password, or a bearer token. */
export type HttpCredentials = { readonly username: string; readonly password: string } | { readonly token: string }

/** Credentials, or a function that is called for each request. */
export type CredentialsOption = HttpCredentials | (() => HttpCredentials | Promise<HttpCredentials>)

/** The `authorization` header of a request; none without credentials. */
export async function authorizationOf(
  option: CredentialsOption | undefined,
): Promise<{ readonly authorization?: string }> {
  const credentials = typeof option === 'function' ? await option() : option
  if (credentials === undefined) return {}
  if ('token' in credentials) return { authorization: `Bearer ${credentials.token}` }
  return { authorization: `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}` }
}

const ATTEMPTS = 3
const DELAY_MS = 100
const DELAY_MS_MAX = 5000
const REPEATED: ReadonlySet<number> = new Set([409, 429, 500, 502, 503, 504])

export interface Call extends Pick<Exchange, 'url' | 'method' | 'body'> {
  /** The name of the blob, for messages. */
  readonly name: string
  /** What is done with it, for messages, if that is not the method. */
  readonly action?: string
  /** Called for each attempt, because a signature has a time, and a token may be replaced. */
  readonly headers: () => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>
  /** Most bytes of the answer. */
  readonly bytesMax?: number | undefined
  /** Statuses that the caller handles, unless `explain` knows the answer; all others are errors. */
  readonly expected: readonly number[]
  /** What the answers of this service mean. */
  readonly explain?: (error: ServerError) => ErrorAdvice | undefined
  readonly signal?: AbortSignal | undefined
}

/** An answer that may be an error. */
export interface ServerError {
  readonly status: number
  /** The word by which S3 names the cause; the rest of its text repeats the request. */
  readonly word: string | undefined
  /** The answer has a text; one to HEAD never has. */
  readonly hasText: boolean
  readonly headers: Response['headers']
  /** How far the clock of the server is ahead of that of this machine. */
  readonly aheadMs: number | undefined
}

/** What an error is for the user, and what to do. */
export interface ErrorAdvice {
  readonly code: 'REMOTE_UNAVAILABLE' | 'REMOTE_DENIED'
  readonly advice: string
}

export interface Answer {
  readonly status: number
  readonly headers: Response['headers']
  readonly bytes: Uint8Array
}

/** Where requests go, and how long each may take. */
export interface Server {
  readonly label: string
  readonly requestMs: number
}

/** How far the clocks of servers are ahead, in milliseconds, by their last answer. */
const clocks: WeakMap<object, number> = new WeakMap()

function noteClock(server: Server, { date = '' }: Answer['headers']): void {
  const serverMs = Date.parse(date)
  if (Number.isFinite(serverMs)) clocks.set(server, serverMs - Date.now())
}

/** How far the clock of a store's server is ahead of this machine's, in milliseconds; undefined if it did not answer with its time. */
export function clockAheadMs(store: object): number | undefined {
  return clocks.get(store)
}

/** Largest answer without a `bytesMax`: a page of a list. */
const ANSWER_MAX = 8 << 20

/** Most bytes of an answer that is not expected; its text is only searched for an error code. */
const ERROR_MAX = 65_536

export async function send(call: Call, server: Server): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await tryOnce(call, server)
    if (!(outcome instanceof Refusal)) return outcome
    if (attempt === ATTEMPTS || !outcome.isTransient || outcome.delayMs > DELAY_MS_MAX) throw outcome.error
    const backoff = DELAY_MS * 2 ** attempt * (0.5 + Math.random() / 2)
    await delay(
      Math.max(backoff, outcome.delayMs),
      undefined,
      call.signal === undefined ? {} : { signal: call.signal },
    ).catch(() => {
      throw outcome.error
    })
  }
}

type GetCall = Omit<Call, 'name' | 'url' | 'headers'> & { readonly headers: Readonly<Record<string, string>> }

/** What a GET of a blob sends and accepts. */
export function getCall({ range, ifNoneMatch, bytesMax, signal }: GetOptions): GetCall {
  const headers: Record<string, string> = {}
  if (range !== undefined) headers['range'] = `bytes=${range.start}-${range.end - 1}`
  if (ifNoneMatch !== undefined) headers['if-none-match'] = ifNoneMatch
  return { method: 'GET', headers, expected: [200, 206, 304, 404], bytesMax: bytesMax ?? range?.end, signal }
}

/** The blob in the answer to a GET; undefined if there is none. A server without ranges sends all of it. */
export function fetchedIn({ status, headers, bytes }: Answer, { range, ifNoneMatch }: GetOptions): Fetched | undefined {
  if (status === 404) return undefined
  if (status === 304) return { bytes: new Uint8Array(), etag: ifNoneMatch, unchanged: true }
  const wanted = range !== undefined && status === 200 ? bytes.subarray(range.start, range.end) : bytes
  return { bytes: wanted, etag: headers.etag }
}

/** The blob in the answer to a HEAD; undefined if there is none. */
export function headIn({ status, headers }: Answer): Head | undefined {
  if (status === 404) return undefined
  return { size: Number(headers['content-length'] ?? 0), etag: headers.etag }
}

/** Why an attempt failed. */
class Refusal {
  readonly error: VarveError
  readonly isTransient: boolean
  readonly delayMs: number

  constructor(error: VarveError, isTransient: boolean, delayMs: number = 0) {
    this.error = error
    this.isTransient = isTransient
    this.delayMs = delayMs
  }
}

async function tryOnce(call: Call, server: Server): Promise<Answer | Refusal> {
  const { name, url, method, action = method, body, bytesMax = ANSWER_MAX } = call
  const failed = `cannot ${action} '${name}' at ${server.label}`
  const budget = new Budget(server.requestMs, call.signal)
  call.signal?.throwIfAborted()
  try {
    budget.start(body?.length ?? 0)
    const onLate = (): void => budget.spend(`no connection within ${CONNECT_MS} ms`)
    const response = await exchange({ url, method, headers: await call.headers(), body, signal: budget.signal, onLate })
    const { status, headers } = response
    noteClock(server, headers)
    budget.start(Math.min(bytesMax, Number(headers['content-length'] ?? bytesMax)))
    const isExpected = call.expected.includes(status)
    const isContent = isExpected && status < 300 && method !== 'HEAD'
    const bytes = await bodyOf(response, name, isContent ? bytesMax : ERROR_MAX, isContent)
    const hasText = bytes.length > 0
    const found = { status, word: wordIn(bytes, status), hasText, headers, aheadMs: clocks.get(server) }
    const explained = status < 300 ? undefined : call.explain?.(found)
    if (isExpected && explained === undefined) return { status, headers, bytes }
    const error = statusError(found, failed, explained ?? explainStatus(status))
    return new Refusal(error, REPEATED.has(status), retryAfterMs(headers))
  } catch (error) {
    if (error instanceof VarveError) throw error
    if (call.signal?.aborted === true) throw call.signal.reason
    const { late } = budget
    const proxy = proxyVariable(environment())
    const direct = proxy === undefined ? '' : `. ${withoutProxy(proxy)}`
    const why = `${late ?? explainTransport(transportCode(error))}${direct}`
    const cause = late === undefined ? {} : { cause: new Timeout(late) }
    return new Refusal(new VarveError('REMOTE_UNAVAILABLE', `${failed}: ${why}`, cause), late === undefined)
  } finally {
    budget.stop()
  }
}

/** The time of one phase of a request: up to the head of the answer, then its body. */
class Budget {
  readonly signal: AbortSignal
  readonly #requestMs: number
  readonly #controller = new AbortController()
  #timer: NodeJS.Timeout | undefined
  /** What did not happen in time. */
  late: string | undefined

  constructor(requestMs: number, caller: AbortSignal | undefined) {
    this.#requestMs = requestMs
    this.signal = caller === undefined ? this.#controller.signal : AbortSignal.any([caller, this.#controller.signal])
  }

  /** Begins a phase that transfers `bytes`. */
  start(bytes: number): void {
    this.stop()
    const ms = budgetOf(this.#requestMs, bytes)
    this.#timer = setTimeout(() => this.spend(`no complete answer within ${ms} ms`), ms)
  }

  /** Ends the attempt. */
  spend(late: string): void {
    this.late = late
    this.#controller.abort()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}

function statusError({ status, word }: ServerError, failed: string, { code, advice }: ErrorAdvice): VarveError {
  const text = `${failed}: status ${status}${word === undefined ? '' : ` (${word})`}`
  return new VarveError(code, `${text}: ${advice}`)
}

function wordIn(body: Uint8Array, status: number): string | undefined {
  const text = status < 300 ? '' : new TextDecoder().decode(body.subarray(0, ERROR_MAX))
  return /<Code>([A-Za-z][A-Za-z0-9.]{0,59})<\/Code>/.exec(text)?.[1]
}

/** The reason for a status if the service gives none. */
function explainStatus(status: number): ErrorAdvice {
  const code = status === 401 || status === 403 ? 'REMOTE_DENIED' : 'REMOTE_UNAVAILABLE'
  const advice =
    code === 'REMOTE_DENIED'
      ? 'check the credentials and what they allow'
      : status === 429
        ? 'the server gets too many requests. Try again later'
        : status >= 500
          ? 'the server has a problem of its own. Try again later, or look at its log'
          : 'check the address in VARVE_REMOTE, and whether it is that of such a store'
  return { code, advice }
}

/** The body, as long as it is not larger than allowed; of an answer that is not expected, its beginning. Leaving the loop ends the connection. */
async function bodyOf(
  { headers, body }: Response,
  name: string,
  bytesMax: number,
  isExpected: boolean,
): Promise<Uint8Array> {
  const isDeclaredTooLarge = isExpected && Number(headers['content-length'] ?? 0) > bytesMax
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (isExpected && (isDeclaredTooLarge || size > bytesMax)) throw tooLarge(name, bytesMax)
    if (size > bytesMax) break
    chunks.push(chunk)
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
}

/** The delay that the server asks for; 0 if it names none. */
function retryAfterMs({ 'retry-after': text }: Answer['headers']): number {
  if (text === undefined) return 0
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : 0
}

/** The URL of a server without its last slashes. Throws INVALID_OPTION for plain http to another machine, and for credentials in it. */
export function serverUrl(option: string, given: string, allowInsecure: boolean): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw invalidOption(`option '${option}'`, "an http or https address, for example 'https://example.com/cache'")
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new VarveError(
      'INVALID_OPTION',
      `option '${option}' has credentials, a query or a fragment; pass credentials in their own options`,
    )
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !allowInsecure) {
    const risk = 'everyone on the way could read credentials and values'
    throw new VarveError(
      'INVALID_OPTION',
      `option '${option}' is plain http to '${url.host}': ${risk}. Use https, or set 'allowInsecure: true'`,
    )
  }
  url.pathname = url.pathname.replace(/\/+$/, '')
  return url
}

/** Whether a host is this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

// Proxies are not supported: the client of Node.js 20 has none, and one that a build does not reach would only be noticed as a remote that is
// down. So the error of a connection that fails has the name of such a variable. Its value may have a password and is never shown.

const PROXY_VARIABLES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']

/** The first variable that names a proxy; undefined if there is none. */
export function proxyVariable(variables: Readonly<Record<string, string | undefined>>): string | undefined {
  return PROXY_VARIABLES.find((name) => (variables[name] ?? '') !== '')
}

/** What follows from it. */
export function withoutProxy(name: string): string {
  return `${name} is not used, because remotes connect to the store directly`
}

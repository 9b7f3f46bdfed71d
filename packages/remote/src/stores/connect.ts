/**
 * A request over HTTP with its answer, and the limit of the time until it has a connection, for which Node.js has no option. A host that drops
 * packets would otherwise take the budget of a whole answer.
 *
 *   request ── begin ──▶ DNS, TCP, TLS ── end ──▶ sent ──▶ answer
 *
 * A process that is busy does not use up the limit: it is counted in slices, and one slice takes as long as the process is busy.
 *
 * `fetch` would load its own client, which takes 70 ms of CPU time in Node.js 20, more than all other work of opening a remote. Connections
 * stay open for later requests; an idle one does not keep the process running.
 */
import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'

/** Milliseconds that a connection may take. */
export const CONNECT_MS = 1000

const SLICES = 10

/** The time until a request has a connection. */
export class Connection {
  readonly #onLate: () => void
  #timer: NodeJS.Timeout | undefined

  /** `onLate` is called if there is no connection within `CONNECT_MS`. */
  constructor(onLate: () => void) {
    this.#onLate = onLate
  }

  begin(left: number = SLICES): void {
    this.#timer = setTimeout(() => (left > 1 ? this.begin(left - 1) : this.#onLate()), CONNECT_MS / SLICES)
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

/** A request that is sent once. */
export interface Exchange {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
  /** Aborts the request, and the answer while it is read. */
  readonly signal: AbortSignal
  /** Called if there is no connection in time. */
  readonly onLate: () => void
}

/** The head of an answer; the body is read as a stream. */
export interface Response {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: IncomingMessage
}

const NO_ANSWER = Object.assign(new Error('the connection ended without an answer'), { code: 'ECONNRESET' })

/** Sends a request. Rejects if no answer begins. */
export async function exchange({ url, method, headers, body, signal, onLate }: Exchange): Promise<Response> {
  const { protocol } = new URL(url)
  const { agent, request } = await clientOf(protocol)
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent, signal })
    const connection = new Connection(onLate)
    connection.begin()
    sent.on('socket', (socket) => {
      if (socket.connecting) socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => connection.end())
      else connection.end()
    })
    sent.on('close', () => {
      connection.end()
      reject(NO_ANSWER) // Node.js reports no error for an answer that switches to another protocol
    })
    sent.on('error', reject)
    sent.on('response', (answer) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer }))
    sent.end(body)
  })
}

/** How requests of a protocol are sent. */
interface Client {
  readonly agent: Agent
  readonly request: (url: string, options: RequestOptions) => ClientRequest
}

const clients: Map<string, Promise<Client>> = new Map()

function clientOf(protocol: string): Promise<Client> {
  const known = clients.get(protocol)
  if (known !== undefined) return known
  const loading = (protocol === 'https:' ? import('node:https') : import('node:http')).then(({ Agent, request }) => {
    return { agent: new Agent({ keepAlive: true }), request }
  })
  clients.set(protocol, loading)
  return loading
}
